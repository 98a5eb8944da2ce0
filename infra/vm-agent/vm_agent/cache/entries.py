"""
Which archives in the bucket are cached environments of one key. There is one for each key, named after its SHA-256; any
program of the account can create further ones, so the first is used, and the next only if the first is damaged.
"""

import time
from dataclasses import dataclass
from itertools import islice
from typing import List

from vm_agent.cache.key import cpu_features
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.transfer.client import ObjectInfo, Storage, split_gs_uri

ARCHIVE_SUFFIX = '.tar'
ANY_CPU = 'any'
# The entry that is used, and the one that takes its place if it is damaged.
ENTRIES_MAX = 2
# More were not stored by agents. Without all of them, it is unknown which is the first.
OBJECTS_MAX = 100


class DamagedEntry(Exception):
    """The archive has other bytes than its name says: the entry beside it may be used."""


class UnusableEntry(Exception):
    """The entry cannot be used here, or is not one that an agent wrote. That does not make another one the first."""


@dataclass(frozen=True)
class CacheLocation:
    uri: str
    """`gs://bucket/prefix`"""
    age_seconds_max: float
    """The length of a period. An entry is used in its own: unpinned requirements keep their versions until then."""
    entry_bytes_max: int
    """An environment with more bytes is not stored."""

    @property
    def bucket(self) -> str:
        return split_gs_uri(self.uri)[0]

    def entry(self, key: str, sha256: str, is_portable: bool) -> str:
        """Returns the name of an archive; `is_portable`: none of its packages was compiled for one kind of CPU."""
        return f'{self.folder(key)}{ANY_CPU if is_portable else cpu_features()}-{sha256}{ARCHIVE_SUFFIX}'

    def folder(self, key: str) -> str:
        return f'{split_gs_uri(self.uri)[1]}/{key}/'


def sha256_of(entry: ObjectInfo) -> str:
    return entry.name.rpartition('-')[2][: -len(ARCHIVE_SUFFIX)]


def list_entries(storage: Storage, location: CacheLocation, key: str, policy: RetryPolicy) -> List[ObjectInfo]:
    """
    Returns at most ENTRIES_MAX entries that may be used on this CPU, in the order in which Cloud Storage has created
    them. Raises UnusableEntry, StorageRejected or TransientError.
    """
    folder = location.folder(key)
    found = list(islice(storage.list(location.bucket, folder, policy), OBJECTS_MAX + 1))
    if len(found) > OBJECTS_MAX:
        raise UnusableEntry(f'{folder} has more than {OBJECTS_MAX} objects')
    starts = tuple(f'{folder}{cpu}-' for cpu in (ANY_CPU, cpu_features()))
    period = _period_of(key, time.time(), location)
    usable = [
        one
        for one in found
        if one.name.startswith(starts)
        and one.name.endswith(ARCHIVE_SUFFIX)
        and _period_of(key, one.created_at, location) == period
    ]
    return sorted(usable, key=lambda one: (one.created_at, one.name))[:ENTRIES_MAX]


def _period_of(key: str, at: float, location: CacheLocation) -> int:
    """
    The periods of a key begin at fixed times: which entry is the first of one depends on no earlier object, so that
    none becomes the first when another is deleted. Those of different keys begin at different times.
    """
    return int(at / location.age_seconds_max + int(key[:8], 16) / 2**32)
