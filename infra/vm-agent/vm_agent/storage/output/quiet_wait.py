"""How long to wait for a pause of the program before its output is saved."""

import time

# Shares of the sync interval. Together with the interval itself, WAIT bounds the time between two snapshots.
QUIET_SHARE = 0.25
FIRST_SHARE = 0.4
WAIT_SHARE = 0.6
# Longer than the tick of modification times (staging.py), so that a quiet file shows every later write.
QUIET_SECONDS_MIN = 0.02
POLLS_MAX = 50
SCAN_FRACTION_MAX = 0.1


def required_quiet(interval_seconds: float, waited_seconds: float, longest_seconds: float) -> float:
    """
    Returns the seconds without a change after which the output is saved. The pauses within a save of several files are
    shorter than those between two saves: first a long pause is required, then about the longest one that was seen, and
    less and less until the wait is over.
    """
    first_phase_seconds = FIRST_SHARE * interval_seconds
    wait_seconds = WAIT_SHARE * interval_seconds
    quiet_seconds = max(QUIET_SECONDS_MIN, QUIET_SHARE * interval_seconds)
    if waited_seconds < first_phase_seconds:
        return quiet_seconds
    first_seconds = min(quiet_seconds, max(QUIET_SECONDS_MIN, longest_seconds / 2))
    fraction = min(1.0, (waited_seconds - first_phase_seconds) / (wait_seconds - first_phase_seconds))
    return first_seconds * (QUIET_SECONDS_MIN / first_seconds) ** fraction


class QuietWait:
    """The wait before one snapshot."""

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._started_at = time.monotonic()
        self._longest_seconds = 0.0

    @property
    def is_over(self) -> bool:
        """Whether any moment will do, however short the pause."""
        return self._waited_seconds >= WAIT_SHARE * self._interval_seconds

    @property
    def has_failed(self) -> bool:
        return self._waited_seconds >= self._interval_seconds

    def is_quiet(self, quiet_seconds: float) -> bool:
        """Whether the time since the last change is long enough now."""
        self._longest_seconds = max(self._longest_seconds, quiet_seconds)
        return quiet_seconds >= self.required_seconds or self.is_over

    def pause_seconds(self, scan_seconds: float) -> float:
        """Returns the seconds until the next look, which costs `scan_seconds`."""
        poll_seconds = min(self._interval_seconds / POLLS_MAX, self.required_seconds / 2)
        return max(poll_seconds, scan_seconds / SCAN_FRACTION_MAX)

    @property
    def required_seconds(self) -> float:
        return required_quiet(self._interval_seconds, self._waited_seconds, self._longest_seconds)

    @property
    def _waited_seconds(self) -> float:
        return time.monotonic() - self._started_at
