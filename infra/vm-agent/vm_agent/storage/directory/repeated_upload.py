"""Uploads to the job directory that are repeated while the program runs, beside its output."""

import sys
import threading
from typing import Callable, Optional

from vm_agent.http.retry import RetryPolicy

TRIES_MAX = 5
TRY_SECONDS_MAX = 60.0


class RepeatedUpload:
    """A thread that uploads what is new, again and again until `finish`, which uploads the rest."""

    def __init__(
        self, name: str, upload: Callable[[RetryPolicy], Optional[str]], log: Callable[[str, str], None]
    ) -> None:
        """`upload` returns why something remains, or None. It is not called twice at once, and does not raise."""
        self._name = name
        self._upload = upload
        self._log = log
        self._last_problem: Optional[str] = None
        self._round = threading.Lock()
        self._is_finishing = threading.Event()

    def start(self, interval_seconds: float, prepare: Callable[[], None] = lambda: None) -> None:
        """`prepare` is called before each round."""

        def run() -> None:
            policy = RetryPolicy(TRIES_MAX, TRY_SECONDS_MAX, self._is_finishing)
            while not self._is_finishing.wait(interval_seconds):
                prepare()
                self._run_round(policy)

        threading.Thread(target=run, name=self._name, daemon=True).start()

    def finish(self, seconds_max: float) -> bool:
        """
        Uploads the rest, for at most `seconds_max`, and logs what is not uploaded. May be called again; returns whether
        this was the first call.
        """
        is_first = not self._is_finishing.is_set()
        self._is_finishing.set()
        self._run_round(RetryPolicy(sys.maxsize, seconds_max))
        return is_first

    def _run_round(self, policy: RetryPolicy) -> None:
        """Each problem is logged once."""
        with self._round:
            problem = self._upload(policy)
            if problem is not None and problem != self._last_problem:
                self._log(problem, 'WARNING')
            self._last_problem = problem
