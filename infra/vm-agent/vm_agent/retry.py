"""Passing faults are met with patience: exponential backoff with full jitter, bounded by tries and by time."""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Iterator, TypeVar

Answer = TypeVar('Answer')

FIRST_DELAY_SECONDS = 0.2
DELAY_SECONDS_MAX = 20.0


class PassingFault(Exception):
    """What failed may work in a moment: no connection, a timeout, 408, 429 or 5xx."""


@dataclass(frozen=True)
class Patience:
    """How long passing faults are borne; setting `cancelled` ends the waiting at once."""

    tries_max: int
    seconds_max: float
    cancelled: threading.Event = field(default_factory=threading.Event)


def backoff_delays() -> Iterator[float]:
    """Seconds to wait before the second, third … try."""
    ceiling = FIRST_DELAY_SECONDS
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(2 * ceiling, DELAY_SECONDS_MAX)


def call_patiently(attempt: Callable[[], Answer], patience: Patience) -> Answer:
    """The first answer that is not a passing fault; raises the last PassingFault when patience runs out."""
    give_up_at = time.monotonic() + patience.seconds_max
    for tries, delay_seconds in enumerate(backoff_delays(), start=1):
        try:
            return attempt()
        except PassingFault:
            out_of_time = time.monotonic() + delay_seconds > give_up_at
            if tries >= patience.tries_max or out_of_time or patience.cancelled.wait(delay_seconds):
                raise
    raise AssertionError('backoff_delays never ends')
