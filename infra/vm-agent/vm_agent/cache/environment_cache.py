"""The cache of environments as the installation uses it. Its failures are logged, and never fail a job."""

import time
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Callable, Set

from vm_agent.cache.entry import InvalidEntry
from vm_agent.cache.files import InstalledEnvironment
from vm_agent.cache.location import CacheLocation
from vm_agent.cache.restore import EnvironmentRestore, find_entry
from vm_agent.cache.store import EnvironmentStore, Store
from vm_agent.http.request import is_disk_full
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.client import Author, Storage, StorageRejected


class Restored(Enum):
    YES = auto()
    NO = auto()
    """Nothing was written."""
    BROKEN = auto()
    """Something may have been written: the virtual environment must be created again."""


@dataclass(frozen=True)
class EnvironmentCache:
    storage: Storage
    location: CacheLocation
    author: Author
    may_store: bool
    """Only one replica of a job stores what all of them have installed."""
    policy: RetryPolicy
    """For restoring; installing takes its place if the bucket fails for long."""
    log: Callable[[str, str], None]
    _invalid: Set[str] = field(default_factory=set)
    """The keys whose entry could not be restored, whatever the network does."""

    def is_invalid(self, key: str) -> bool:
        """Whether its entry could not be restored in this job: then the second one beside it may be used."""
        return key in self._invalid

    def restore(self, key: str, venv: Path, is_second: bool = False) -> Restored:
        """`is_second`: the entry beside an invalid one, which any job of the account may create at any time."""
        started_at = time.monotonic()
        is_started = False
        try:
            entry = find_entry(self.storage, self.location, key, self.policy, is_second)
            if entry is None:
                return Restored.NO
            is_started = True
            EnvironmentRestore(self.storage, self.location, venv, self.policy).run(entry)
        except (InvalidEntry, StorageRejected, TransientError, OSError) as error:
            if is_disk_full(error):
                raise
            if isinstance(error, InvalidEntry):
                self._invalid.add(key)
            self.log(f'The environment in the cache is not used, and the packages are installed: {error}', 'WARNING')
            return Restored.BROKEN if is_started else Restored.NO
        manifest = entry.manifest
        age_hours = max(0.0, time.time() - manifest.created_at) / 3_600
        self.log(
            f'Restored the environment of {len(manifest.distributions)} packages ({manifest.size_bytes / 1e6:.0f} MB, '
            f'installed {age_hours:.0f} h ago) from the cache in {time.monotonic() - started_at:.1f} s.',
            'INFO',
        )
        return Restored.YES

    def store(self, key: str, environment: InstalledEnvironment) -> Store:
        """Returns what stores the environment when it is called, typically in the background."""
        is_second = key in self._invalid
        return lambda policy: EnvironmentStore(self.storage, self.location, self.author, policy, is_second).run(
            key, environment
        )
