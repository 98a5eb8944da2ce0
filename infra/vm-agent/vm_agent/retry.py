"""Passing faults are met with patience: exponential backoff with full jitter, bounded by tries and by time."""

import math
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
    ends_at: float = math.inf
    """By time.monotonic(): nothing is tried again after it, whatever is left of tries and seconds."""


def backoff_delays() -> Iterator[float]:
    """Seconds to wait before the second, third … try."""
    ceiling = FIRST_DELAY_SECONDS
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(2 * ceiling, DELAY_SECONDS_MAX)


def call_patiently(
    attempt: Callable[[], Answer], patience: Patience, progress: Callable[[], int] = lambda: 0
) -> Answer:
    """
    The first answer that is not a passing fault; raises the last PassingFault when patience runs out. Tries and seconds
    are counted anew whenever `progress` has grown beyond what it was: what gets on is not given up.
    """
    furthest = progress()
    tries, delays, give_up_at = 0, backoff_delays(), time.monotonic() + patience.seconds_max
    while True:
        try:
            return attempt()
        except PassingFault:
            reached = progress()
            if reached > furthest:
                furthest = reached
                tries, delays, give_up_at = 0, backoff_delays(), time.monotonic() + patience.seconds_max
            tries += 1
            delay_seconds = next(delays)
            is_out_of_time = time.monotonic() + delay_seconds > min(give_up_at, patience.ends_at)
            if tries >= patience.tries_max or is_out_of_time or patience.cancelled.wait(delay_seconds):
                raise
