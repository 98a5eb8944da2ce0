"""Where threads and signal handlers leave word for the supervisor. The first reason to stop is the one that counts."""

import queue
import signal
import threading
from typing import Callable, Optional

from vm_agent.decisions import StopNotice

NoticeSource = Callable[[], Optional[StopNotice]]


class Mailbox:
    def __init__(self) -> None:
        self.stopping = threading.Event()
        """Set by the first notice: cuts waits short."""
        self.latest: Optional[StopNotice] = None
        """It may leave less time than the first one did."""
        self._first: Optional[StopNotice] = None
        self._wake = threading.Event()
        # The one thing in the standard library that may be used inside a signal handler.
        self._letters: 'queue.SimpleQueue[NoticeSource]' = queue.SimpleQueue()
        threading.Thread(target=self._sort, name='mailbox', daemon=True).start()

    @property
    def notice(self) -> Optional[StopNotice]:
        return self._first

    def post(self, notice: StopNotice) -> None:
        self._letters.put(lambda: notice)

    def wake(self) -> None:
        """Makes a waiting supervisor look around."""
        self._letters.put(lambda: None)

    def wait(self, seconds: float) -> None:
        """Returns at the next letter, or after so many seconds."""
        self._wake.wait(seconds)
        self._wake.clear()

    def take_termination(self, explain: Callable[[], StopNotice]) -> None:
        """SIGTERM and SIGINT to the agent become a notice, which `explain` words outside the signal handler."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self._letters.put(explain))

    def _sort(self) -> None:
        while True:
            notice = self._letters.get()()
            if notice is not None:
                self.latest = notice
                self._first = self._first or notice
                self.stopping.set()
            self._wake.set()
