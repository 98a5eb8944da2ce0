"""Requests to stop, from threads and signal handlers to the supervisor. The first one is the reason that counts."""

import queue
import signal
import threading
from typing import Callable, Optional

from vm_agent.control.decisions import StopNotice

NoticeSource = Callable[[], Optional[StopNotice]]


class StopSignal:
    def __init__(self) -> None:
        self.requested = threading.Event()
        """Set by the first request; cancels retries and waits."""
        self.latest: Optional[StopNotice] = None
        """The latest notice, which may leave less time than the first one."""
        self._first: Optional[StopNotice] = None
        self._wake = threading.Event()
        # The only primitive of the standard library that is reentrant, hence safe to use in a signal handler.
        self._sources: queue.SimpleQueue[NoticeSource] = queue.SimpleQueue()
        threading.Thread(target=self._run, name='stop-signal', daemon=True).start()

    @property
    def notice(self) -> Optional[StopNotice]:
        """The first notice, or None if no stop has been requested."""
        return self._first

    def request_stop(self, notice: StopNotice) -> None:
        self._sources.put(lambda: notice)

    def wake(self) -> None:
        """Makes `wait` return."""
        self._sources.put(lambda: None)

    def wait(self, seconds: float) -> None:
        """Returns after a request to stop, after `wake`, or when `seconds` have passed."""
        self._wake.wait(seconds)
        self._wake.clear()

    def handle_termination_signals(self, explain: Callable[[], StopNotice]) -> None:
        """Turns SIGTERM and SIGINT into the notice that `explain` returns; it is called outside the signal handler."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self._sources.put(explain))

    def _run(self) -> None:
        while True:
            notice = self._sources.get()()
            if notice is not None:
                self.latest = notice
                self._first = self._first or notice
                self.requested.set()
            self._wake.set()
