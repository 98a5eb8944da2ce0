"""
Where cached environments are in the bucket. Objects are grouped by the week in which they were written: an entry refers
to parts of its own week only, so that the bucket's age limit never deletes a part before the entries that need it.
"""

from dataclasses import dataclass
from typing import Tuple

WEEK_SECONDS = 604_800


@dataclass(frozen=True)
class CacheLocation:
    bucket: str
    prefix: str
    """Without a trailing slash; may be empty."""
    age_seconds_max: float
    """An entry is used for this long, at most a week: unpinned requirements keep their versions until then."""
    entry_bytes_max: int
    """An environment with more bytes is not stored."""

    def entry(self, week: int, key: str) -> str:
        return f'{self._folder(week)}/entries/{key}'

    def second_entry(self, week: int, key: str) -> str:
        """In place of an entry that cannot be restored, since no object of the cache is ever replaced."""
        return f'{self.entry(week, key)}.second'

    def part(self, week: int, sha256: str) -> str:
        return f'{self._folder(week)}/parts/{sha256}'

    def _folder(self, week: int) -> str:
        return '/'.join(filter(None, [self.prefix, str(week)]))


def current_week(now: float) -> int:
    """Weeks since the epoch."""
    return int(now // WEEK_SECONDS)


def weeks_to_search(now: float) -> Tuple[int, int]:
    return current_week(now), current_week(now) - 1
