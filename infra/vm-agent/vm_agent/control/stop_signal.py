"""Requests to stop, from threads and signal handlers to the supervisor. The first one is the reason that counts."""

import queue
import signal
import threading
import time
from dataclasses import dataclass
from typing import Callable, List, Optional

from vm_agent.control.decisions import StopNotice

# The program is killed at once: each write brings the machine closer to a standstill.
DISK_FULL = StopNotice('DISK_FULL', 'The disk of the machine is full, and this VM uses the most of it. Free some space.', 0.0)

NoticeSource = Callable[[], Optional[StopNotice]]


@dataclass(frozen=True)
class Interruption:
    """A notice of Compute Engine that it ends the VM."""

    message: str
    is_stopping: bool
    """Whether the program is being stopped for it."""
    ends_at: Optional[float]
    """When the VM ends, by time.monotonic(); None if that is unknown."""

    @property
    def seconds_left(self) -> Optional[float]:
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())


class StopSignal:
    def __init__(self) -> None:
        self.requested = threading.Event()
        """Set by the first request; cancels retries and waits."""
        self.notice: Optional[StopNotice] = None
        """The first notice, or None if no stop has been requested."""
        self.latest: Optional[StopNotice] = None
        """The latest notice, which may leave less time than the first one."""
        self.interruption: Optional[Interruption] = None
        """The latest notice that Compute Engine ends the VM."""
        self.on_interruption: List[Callable[[], None]] = []
        """Called after `interruption` has changed."""
        self._wake = threading.Event()
        # The only primitive of the standard library that is reentrant, hence safe to use in a signal handler.
        self._sources: queue.SimpleQueue[NoticeSource] = queue.SimpleQueue()
        threading.Thread(target=self._run, name='stop-signal', daemon=True).start()

    def request_stop(self, notice: StopNotice) -> None:
        self._sources.put(lambda: notice)

    def announce(self, notice: StopNotice) -> None:
        """Reports that Compute Engine will end the VM; the program goes on until a stop is requested."""

        def record() -> None:
            if not self.requested.is_set():
                self._set_interruption(notice, is_stopping=False)

        self._sources.put(record)

    def withdraw(self) -> None:
        """Compute Engine will not end the VM after all."""

        def forget() -> None:
            if not self.requested.is_set():
                self.interruption = None

        self._sources.put(forget)

    def wake(self) -> None:
        """Makes `wait` return."""
        self._sources.put(lambda: None)

    def wait(self, seconds: float) -> None:
        """Returns after a request to stop, after `wake`, or when `seconds` have passed."""
        self._wake.wait(seconds)
        self._wake.clear()

    def handle_termination_signals(self, explain: Callable[[], StopNotice]) -> None:
        """
        Turns SIGTERM and SIGINT into the notice that `explain` returns, which is called outside the signal handler, and
        SIGXFSZ into DISK_FULL.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self._sources.put(explain))
        # The machine's disk is full although the VM's limit is not reached: the embedded cloud's VMs share one disk.
        signal.signal(signal.SIGXFSZ, lambda _number, _frame: self._sources.put(lambda: DISK_FULL))

    def _run(self) -> None:
        while True:
            notice = self._sources.get()()
            if notice is not None:
                self.latest = notice
                self.notice = self.notice or notice
                self.requested.set()
                if notice.is_interruption:
                    self._set_interruption(notice, is_stopping=True)
            self._wake.set()

    def _set_interruption(self, notice: StopNotice, is_stopping: bool) -> None:
        ends_at = None if notice.seconds_left is None else time.monotonic() + notice.seconds_left
        self.interruption = Interruption(notice.message, is_stopping, ends_at)
        for callback in self.on_interruption:
            callback()
