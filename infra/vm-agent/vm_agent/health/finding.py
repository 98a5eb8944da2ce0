"""A finding about the program (shared/domain/health.ts, docs/health.md), and conditions that last."""

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from vm_agent.program.evidence import CONTROL
from vm_agent.program.exit_report import truncate

TEXT_CHARS_MAX = 500
LINE_CHARS_MAX = 300
EVIDENCE_LINES_MAX = 10


@dataclass(frozen=True)
class Finding:
    """Times are by time.monotonic(): the wall clock may jump."""

    code: str
    message: str
    remedy: str
    since: float
    evidence: Tuple[str, ...] = ()
    until: Optional[float] = None
    """None while the condition lasts."""

    def to_json(self, clock_offset: float) -> Dict[str, Any]:
        """`clock_offset` is the wall clock's time less the monotonic one."""
        return {
            'code': self.code,
            'message': truncate(clean(self.message), TEXT_CHARS_MAX),
            'remedy': truncate(clean(self.remedy), TEXT_CHARS_MAX),
            'evidence': [truncate(clean(line), LINE_CHARS_MAX) for line in self.evidence[-EVIDENCE_LINES_MAX:]],
            'since': _milliseconds(self.since + clock_offset),
            'until': None if self.until is None else _milliseconds(self.until + clock_offset),
        }


class Condition:
    """
    A condition with hysteresis: it begins after it has held for `raise_seconds`, and ends after it has not held for
    `clear_seconds`, so that its finding does not flap.
    """

    def __init__(self, raise_seconds: float, clear_seconds: float) -> None:
        self._raise_seconds = raise_seconds
        self._clear_seconds = clear_seconds
        self._held_since: Optional[float] = None
        self._absent_since: Optional[float] = None
        self.since: Optional[float] = None
        """When the condition began that lasts now or lasted last; None if there was none."""
        self.until: Optional[float] = None

    @property
    def is_active(self) -> bool:
        return self.since is not None and self.until is None

    def update(self, holds: bool, at: float) -> None:
        if holds:
            self._absent_since = None
            self._held_since = at if self._held_since is None else self._held_since
            if not self.is_active and at - self._held_since >= self._raise_seconds:
                self.since, self.until = self._held_since, None
            return
        self._absent_since = at if self._absent_since is None else self._absent_since
        if not self.is_active:
            self._held_since = None
        elif at - self._absent_since >= self._clear_seconds:
            self.until, self._held_since = self._absent_since, None


def clean(text: str) -> str:
    """Removes what would control a terminal."""
    return CONTROL.sub('', text)


def describe_seconds(seconds: float) -> str:
    """Returns the time with its unit: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 120:
        return f'{seconds:.0f} s'
    return f'{seconds / 60:.0f} min' if seconds < 7_200 else f'{seconds / 3_600:.1f} h'


def describe_bytes(size: float) -> str:
    return f'{size / 2**30:.1f} GiB' if size >= 2**30 else f'{size / 2**20:.0f} MiB'


def _milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1_000))
