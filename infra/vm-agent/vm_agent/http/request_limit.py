"""A limit of parallel requests to one service, which adapts to what the service accepts."""

import threading
from contextlib import contextmanager
from typing import Iterator

from vm_agent.http.retry import TransientError


class RequestLimit:
    """
    Halves when the service answers that it is overloaded, and grows by one for every `limit` successes since, as TCP
    does. Thread-safe.
    """

    def __init__(self, requests_max: int) -> None:
        self._requests_max = requests_max
        self._current = float(requests_max)
        self._running = 0
        self._epoch = 0
        self._changed = threading.Condition()

    @property
    def current(self) -> int:
        """The parallel requests that are allowed now."""
        return int(self._current)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Waits until a request may be sent, and counts it until the block ends."""
        with self._changed:
            while self._running >= int(self._current):
                self._changed.wait()
            self._running += 1
            epoch = self._epoch
        try:
            yield
        except TransientError as error:
            if error.is_overload:
                self._shrink(epoch)
            raise
        else:
            self._grow()
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify()

    def _shrink(self, epoch: int) -> None:
        with self._changed:
            # Requests that were sent before the last reduction say nothing about the limit that it set.
            if epoch == self._epoch:
                self._current = max(1.0, self._current / 2)
                self._epoch += 1

    def _grow(self) -> None:
        with self._changed:
            if self._current < self._requests_max:
                self._current = min(float(self._requests_max), self._current + 1 / self._current)
                self._changed.notify()
