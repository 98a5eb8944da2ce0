"""When samples were reported: never before the program's start, in the future, or before the one before."""

import math
from typing import Dict, Optional

from vm_agent.metrics.samples.boot_clock import BootClock

# Writers flush several files one after the other; a clock that was set by more than this is not believed.
DISORDER_SECONDS_MAX = 60.0
CLOCK_ERROR_SECONDS = 1.0


class SampleTimes:
    """Not thread-safe. Times are those of one boot, by BootClock."""

    def __init__(self, clock: BootClock) -> None:
        self._clock = clock
        self._read_at = clock.now()
        self._earlier_read_at = self._read_at
        self._last: Dict[str, float] = {}
        self.started_at = 0.0

    def begin_round(self) -> None:
        """Called before the sources are read: what does not say when it was reported was reported since then."""
        self._earlier_read_at, self._read_at = self._read_at, self._clock.now()

    def now(self) -> float:
        return self._clock.now()

    def of(self, series: str, wall_time: Optional[float], progress: float) -> float:
        """
        Returns seconds since the epoch for a sample of the current round. `progress`, 0 to 1, is its place among those
        that the source has returned.
        """
        last = self._last.get(series, 0.0)
        at = self._earlier_read_at + (self._read_at - self._earlier_read_at) * progress
        if wall_time is not None and self._is_plausible(wall_time, last):
            at = min(wall_time, self._read_at)
        at = self._last[series] = max(at, last)
        return at

    def _is_plausible(self, wall_time: float, last: float) -> bool:
        earliest = max(self.started_at - CLOCK_ERROR_SECONDS, last - DISORDER_SECONDS_MAX)
        return math.isfinite(wall_time) and earliest <= wall_time <= self._read_at + CLOCK_ERROR_SECONDS
