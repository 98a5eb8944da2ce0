"""Retries of transient errors: exponential backoff with full jitter, bounded by tries and by time."""

import math
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Iterator, Optional, TypeVar

Result = TypeVar('Result')

FIRST_DELAY_SECONDS = 0.2
DELAY_SECONDS_MAX = 20.0
PARENT_POLL_SECONDS = 0.2


class TransientError(Exception):
    """A failure that a retry may fix: no connection, a timeout, 408, 429 or 5xx."""

    def __init__(self, message: str, is_overload: bool = False) -> None:
        """`is_overload`: the server asks for fewer requests (429 or 503)."""
        super().__init__(message)
        self.is_overload = is_overload


class ChildEvent(threading.Event):
    """Is set once it or its parent is."""

    def __init__(self, parent: threading.Event) -> None:
        super().__init__()
        self._parent = parent

    def is_set(self) -> bool:
        return super().is_set() or self._parent.is_set()

    def wait(self, timeout: Optional[float] = None) -> bool:
        give_up_at = math.inf if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left_seconds = give_up_at - time.monotonic()
            if left_seconds <= 0:
                return False
            super().wait(min(left_seconds, PARENT_POLL_SECONDS))
        return True


@dataclass(frozen=True)
class RetryPolicy:
    """How long transient errors are retried."""

    tries_max: int
    seconds_max: float
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Once set, nothing is retried, and a wait for the next try ends at once."""
    deadline: float = math.inf
    """By time.monotonic(): nothing is retried after it, however many tries and seconds are left."""


def backoff_delays() -> Iterator[float]:
    """Seconds to wait before the second, third … try."""
    ceiling = FIRST_DELAY_SECONDS
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(2 * ceiling, DELAY_SECONDS_MAX)


def call_with_retry(call: Callable[[], Result], policy: RetryPolicy, progress: Callable[[], int] = lambda: 0) -> Result:
    """
    Returns the first result of `call`; raises its last TransientError when the policy allows no further try. Whenever
    `progress` exceeds its highest value so far, tries, seconds and backoff start over (the deadline does not): a
    transfer that advances is never abandoned.
    """
    highest = progress()
    tries, delays, give_up_at = 0, backoff_delays(), time.monotonic() + policy.seconds_max
    while True:
        try:
            return call()
        except TransientError:
            reached = progress()
            if reached > highest:
                highest = reached
                tries, delays, give_up_at = 0, backoff_delays(), time.monotonic() + policy.seconds_max
            tries += 1
            delay_seconds = next(delays)
            is_out_of_time = time.monotonic() + delay_seconds > min(give_up_at, policy.deadline)
            if tries >= policy.tries_max or is_out_of_time or policy.cancelled.wait(delay_seconds):
                raise
