"""Requests of other threads to the one that reads the metrics."""

import threading
from typing import Optional


class ReadRequests:
    """Thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._asked = self._served = 0
        self._is_open = False

    def open(self) -> None:
        self._is_open = True

    def close(self) -> None:
        """Nothing is read any more: those that wait return."""
        with self._condition:
            self._is_open = False
            self._condition.notify_all()

    def ask(self, seconds_max: float) -> None:
        """Returns when a read that began after this call has ended, or when there is no reader or the time is over."""
        with self._condition:
            self._asked += 1
            wanted = self._asked
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._is_open or self._served >= wanted, seconds_max)

    def next(self, pause_seconds: float) -> Optional[int]:
        """For the reader: waits for a request or for the pause. Returns what `serve` gets; None if it is to end."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_open or self._asked > self._served, pause_seconds)
            return self._asked if self._is_open else None

    def serve(self, number: int) -> None:
        with self._condition:
            self._served = number
            self._condition.notify_all()
