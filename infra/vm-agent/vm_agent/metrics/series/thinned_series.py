"""
One series as it is kept: all points, or of a stretch with many the first, the last, the lowest, the highest, and the
first NaN and infinity of each sign.
"""

import math
from typing import Dict, List, NamedTuple, Optional

# Reports within one stretch that are all kept.
STRETCH_POINTS_MAX = 4
STRETCH_SECONDS_MIN = 1.0
# Until a series, or all of them, have so many points, every report is kept: a short program has its whole curve.
SERIES_POINTS_COMPLETE = 5_000
ALL_POINTS_COMPLETE = 200_000
# With each so many points, of one series or of all, stretches become twice as long: a week at 1,000 reports a second
# has some 300,000 points.
SERIES_POINTS_PER_DOUBLING = 50_000
ALL_POINTS_PER_DOUBLING = 1_000_000
DOUBLINGS_MAX = 12


class Point(NamedTuple):
    step: float
    at: float
    """Seconds since the epoch."""
    value: float


def stretch_seconds(series_points: int, all_points: int) -> float:
    """Returns the length of the next stretch; 0 if every report is kept."""
    if series_points < SERIES_POINTS_COMPLETE and all_points < ALL_POINTS_COMPLETE:
        return 0.0
    doublings = max(series_points // SERIES_POINTS_PER_DOUBLING, all_points // ALL_POINTS_PER_DOUBLING)
    return STRETCH_SECONDS_MIN * 2 ** min(doublings, DOUBLINGS_MAX)


class ThinnedSeries:
    """The first point of a stretch is kept at once, the others when the stretch has ended."""

    def __init__(self) -> None:
        self.kept_count = 0
        self.ends_at = -math.inf
        """When the open stretch ends; in the past if none is open."""
        self._rest: List[Point] = []
        self._is_thinned = False
        self._odd: Dict[str, Point] = {}
        """The first NaN, infinity and negative infinity, by their text: a NaN is not equal to itself."""
        self._last: Optional[Point] = None

    @property
    def is_open(self) -> bool:
        """Whether points wait for the end of a stretch."""
        return self._is_thinned or bool(self._rest)

    def add(self, point: Point, seconds: float) -> List[Point]:
        """Returns the points to keep by now, by increasing time. `seconds` is the length of the next stretch."""
        if point.at < self.ends_at:
            self._add_to_stretch(point)
            return []
        kept = self.close()
        self.ends_at = point.at + seconds
        kept.append(point)
        self.kept_count += 1
        return kept

    def close_ended(self, now: float) -> List[Point]:
        return self.close() if now >= self.ends_at else []

    def close(self) -> List[Point]:
        """Ends the stretch. Returns the points of it that are kept."""
        rest = self.waiting()
        self._rest, self._is_thinned, self._odd, self._last = [], False, {}, None
        self.ends_at = -math.inf
        self.kept_count += len(rest)
        return rest

    def _add_to_stretch(self, point: Point) -> None:
        rest = self._rest
        if not self._is_thinned:
            rest.append(point)
            if len(rest) < STRETCH_POINTS_MAX:
                return
            self._rest, self._is_thinned = [], True
            for one in rest:
                self._thin(one)
            return
        self._thin(point)

    def _thin(self, point: Point) -> None:
        """Keeps in `_rest` the lowest and the highest point."""
        self._last = point
        value, rest = point.value, self._rest
        if not math.isfinite(value):
            self._odd.setdefault(str(value), point)
        elif not rest:
            self._rest = [point, point]
        elif value < rest[0].value:
            rest[0] = point
        elif value > rest[1].value:
            rest[1] = point

    def waiting(self) -> List[Point]:
        """Returns the points of the open stretch that are kept if it ends now."""
        if not self._is_thinned:
            return self._rest
        extremes = {point for point in (*self._rest, *self._odd.values(), self._last) if point is not None}
        return sorted(extremes, key=lambda one: (one.at, one.step))
