"""
Which archives in the bucket are cached environments of one key. There is one for each key, named after its SHA-256; any
program of the account can create further ones, so the first is used, and the next only where the first has failed.
"""

import time
from dataclasses import dataclass
from itertools import islice
from typing import List

from vm_agent.cache.key import cpu_features
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.client import ObjectInfo, Storage

ARCHIVE_SUFFIX = '.tar'
ANY_CPU = 'any'
# The entry that is used, and the one that takes its place where it cannot be restored.
ENTRIES_MAX = 2
# More were not stored by agents. Without all of them, it is unknown which is the first.
OBJECTS_MAX = 100


class InvalidEntry(Exception):
    """The entry is damaged, or not one that an agent wrote: it is not used."""


@dataclass(frozen=True)
class CacheLocation:
    bucket: str
    prefix: str
    """Without a trailing slash; may be empty."""
    age_seconds_max: float
    """An entry is used for this long: unpinned requirements keep their versions until then."""
    entry_bytes_max: int
    """An environment with more bytes is not stored."""

    def entry(self, key: str, sha256: str, is_portable: bool) -> str:
        """Returns the name of an archive; `is_portable`: none of its packages was compiled for one kind of CPU."""
        return f'{self.folder(key)}{ANY_CPU if is_portable else cpu_features()}-{sha256}{ARCHIVE_SUFFIX}'

    def folder(self, key: str) -> str:
        return '/'.join(filter(None, [self.prefix, key])) + '/'


def sha256_of(entry: ObjectInfo) -> str:
    return entry.name.rpartition('-')[2][: -len(ARCHIVE_SUFFIX)]


def list_entries(storage: Storage, location: CacheLocation, key: str, policy: RetryPolicy) -> List[ObjectInfo]:
    """
    Returns at most ENTRIES_MAX entries that may be used on this CPU, in the order in which Cloud Storage has created
    them. Raises InvalidEntry, StorageRejected or TransientError.
    """
    folder = location.folder(key)
    found = list(islice(storage.list(location.bucket, folder, policy), OBJECTS_MAX + 1))
    if len(found) > OBJECTS_MAX:
        raise InvalidEntry(f'{folder} has more than {OBJECTS_MAX} objects')
    starts = tuple(f'{folder}{cpu}-' for cpu in (ANY_CPU, cpu_features()))
    usable = [one for one in found if one.name.startswith(starts) and one.name.endswith(ARCHIVE_SUFFIX)]
    return _current(sorted(usable, key=lambda one: (one.created_at, one.name)), location.age_seconds_max)


def _current(in_order: List[ObjectInfo], age_seconds_max: float) -> List[ObjectInfo]:
    """The first entry, and those beside it, expire together: none becomes the first because it was created later."""
    group: List[ObjectInfo] = []
    for one in in_order:
        if group and one.created_at <= group[0].created_at + age_seconds_max:
            group.append(one)
        else:
            group = [one]
    is_current = bool(group) and time.time() - group[0].created_at <= age_seconds_max
    return group[:ENTRIES_MAX] if is_current else []
