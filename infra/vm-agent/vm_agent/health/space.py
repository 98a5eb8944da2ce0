"""MEMORY_NEAR_FULL and DISK_NEAR_FULL: how much is used, and when it will be full if it grows as it does."""

from collections import deque
from dataclasses import dataclass
from typing import Deque, List, Optional, Tuple

from vm_agent.health.finding import Condition, Finding, describe_bytes, describe_seconds

# One point in this time, so that the window is half an hour.
POINT_SECONDS = 30.0
POINTS_MAX = 60
POINTS_MIN = 20
# Growth is steady if a line explains at least this much of it.
FIT_MIN = 0.95
FORECAST_SECONDS_MAX = 3_600.0
# Below this, a forecast is a guess: data sets are loaded, caches are filled.
FORECAST_FRACTION_MIN = 0.6
RAISE_SECONDS = 60.0
CLEAR_SECONDS = 120.0


@dataclass(frozen=True)
class Space:
    """The resource that a detector watches."""

    code: str
    noun: str
    full_fraction: float
    remedy: str


MEMORY = Space(
    'MEMORY_NEAR_FULL',
    'memory',
    0.93,
    'Choose a machine type with more memory, or use less: fewer workers of the data loader, a smaller shuffle buffer, '
    'no cache of the data set in memory. If it grows all the time, something is kept from each step: often a loss or '
    'an output that is stored with its graph (use loss.item() or detach()).',
)
DISK = Space(
    'DISK_NEAR_FULL',
    'disk',
    0.9,
    'Request a larger boot disk, keep fewer checkpoints (save_total_limit, max_to_keep, save_top_k), or delete what is '
    'not needed while the program runs.',
)


class SpaceDetector:
    """Not thread-safe."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._points: Deque[Tuple[float, float]] = deque(maxlen=POINTS_MAX)
        self._condition = Condition(RAISE_SECONDS, CLEAR_SECONDS)
        self._message = ''
        self._evidence: Tuple[str, ...] = ()

    def add(self, used: Optional[float], total: Optional[float], at: float) -> None:
        if used is None or not total:
            return
        if not self._points or at - self._points[-1][0] >= POINT_SECONDS:
            self._points.append((at, used))
        fraction = used / total
        full_in = self._forecast(total) if fraction >= FORECAST_FRACTION_MIN else None
        is_full = fraction >= self._space.full_fraction - (0.02 if self._condition.is_active else 0.0)
        self._condition.update(is_full or full_in is not None, at)
        if is_full or full_in is not None:
            self._describe(used, total, full_in)

    def findings(self) -> List[Finding]:
        since = self._condition.since
        if since is None:
            return []
        space = self._space
        return [Finding(space.code, self._message, space.remedy, since, self._evidence, self._condition.until)]

    def _describe(self, used: float, total: float, full_in: Optional[float]) -> None:
        noun = self._space.noun
        forecast = '' if full_in is None else f' It grows steadily, and is full in about {describe_seconds(full_in)}.'
        self._message = (
            f'{describe_bytes(used)} of {describe_bytes(total)} of the {noun} are in use '
            f'({100 * used / total:.0f} %).{forecast}'
        )
        first_at, first = self._points[0]
        self._evidence = (
            f'{noun}: {describe_bytes(first)} {describe_seconds(self._points[-1][0] - first_at)} before, '
            f'{describe_bytes(used)} now',
        )

    def _forecast(self, total: float) -> Optional[float]:
        """Returns the seconds until it is full; None if it does not grow steadily, or not soon."""
        count = len(self._points)
        if count < POINTS_MIN:
            return None
        mean_at = sum(at for at, _ in self._points) / count
        mean = sum(used for _, used in self._points) / count
        variance_at = sum((at - mean_at) ** 2 for at, _ in self._points)
        variance = sum((used - mean) ** 2 for _, used in self._points)
        covariance = sum((at - mean_at) * (used - mean) for at, used in self._points)
        if variance_at <= 0 or variance <= 0 or covariance <= 0:
            return None
        if covariance**2 < FIT_MIN * variance_at * variance:
            return None
        seconds = (total - self._points[-1][1]) / (covariance / variance_at)
        return seconds if seconds <= FORECAST_SECONDS_MAX else None
