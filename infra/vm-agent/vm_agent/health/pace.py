"""STALLED: no log line, no metric and no activity for longer than the job's own pace explains."""

from collections import deque
from statistics import median
from typing import Deque, Optional

# The shortest time between reports. Reports within a second are one.
GAP_SECONDS_MIN = 1.0
GAPS_MAX = 64
GAPS_MIN = 5
MEDIAN_FACTOR = 20.0
LONGEST_FACTOR = 3.0
STALL_SECONDS_MIN = 600.0
STALL_SECONDS_MAX = 7_200.0
# Until the pace is known: downloads, compilation, a first epoch.
STALL_SECONDS_AT_START = 1_800.0


class Pace:
    """Not thread-safe. Times are by time.monotonic()."""

    def __init__(self, started_at: float, stalled_after: Optional[float] = None) -> None:
        """`stalled_after` replaces the limit that follows from the pace, in seconds."""
        self._stalled_after = stalled_after
        self._gaps: Deque[float] = deque(maxlen=GAPS_MAX)
        self._longest = 0.0
        self._last_report = started_at
        self.quiet_since = started_at
        self._is_first = True

    def add_report(self, at: float) -> None:
        """A log line or a metric."""
        gap = at - self._last_report
        if gap >= GAP_SECONDS_MIN:
            if not self._is_first:
                self._gaps.append(gap)
                self._longest = max(self._longest, gap)
            self._is_first = False
            self._last_report = at
        self.quiet_since = max(self.quiet_since, at)

    def add_activity(self, at: float) -> None:
        """A processor, a GPU, the disk or the network was busy."""
        self.quiet_since = max(self.quiet_since, at)

    def quiet_seconds(self, at: float) -> float:
        return at - self.quiet_since

    def limit_seconds(self) -> float:
        if self._stalled_after is not None:
            return self._stalled_after
        if len(self._gaps) < GAPS_MIN:
            return STALL_SECONDS_AT_START
        own = max(MEDIAN_FACTOR * median(self._gaps), LONGEST_FACTOR * self._longest)
        return min(STALL_SECONDS_MAX, max(STALL_SECONDS_MIN, own))

    def median_gap(self) -> Optional[float]:
        return median(self._gaps) if len(self._gaps) >= GAPS_MIN else None

    def is_stalled(self, at: float) -> bool:
        return self.quiet_seconds(at) > self.limit_seconds()
