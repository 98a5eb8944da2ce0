"""The cache of environments as the installation uses it. Its failures are logged, and never fail a job."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, List, Set

from vm_agent.cache.entries import CacheLocation, DamagedEntry, UnusableEntry, list_entries
from vm_agent.cache.files import InstalledEnvironment, list_distributions
from vm_agent.cache.restore import EnvironmentRestore
from vm_agent.cache.store import EnvironmentStore, Store
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.transfer.client import Author, ObjectInfo, Storage, StorageRejected


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
    _damaged: Set[str] = field(default_factory=set)
    """The names of the entries that have other bytes than were stored."""

    def restore(self, key: str, venv: Path, create_venv: Callable[[Path], None]) -> bool:
        """
        Returns whether an empty virtual environment now has the packages; otherwise it is empty: `create_venv` replaces
        one that has a part of an entry. The entry beside the first one, which any program of the account can create at
        any time, is used only if the first one is damaged.
        """
        for entry in self._list(key):
            started_at = time.monotonic()
            try:
                EnvironmentRestore(self.storage, venv, self.location.entry_bytes_max, self.policy).run(entry)
            except (DamagedEntry, UnusableEntry, StorageRejected, TransientError, OSError, MemoryError) as error:
                self.log(f'The environment in the cache is not used: {error}', 'WARNING')
                create_venv(venv)
                if not isinstance(error, DamagedEntry):
                    return False
                self._damaged.add(entry.name)
                continue
            age_hours = max(0.0, time.time() - entry.created_at) / 3_600
            self.log(
                f'Restored the environment of {len(list_distributions(venv))} packages '
                f'({entry.size_bytes / 1e6:.0f} MB, installed {age_hours:.0f} h ago) from the cache in '
                f'{time.monotonic() - started_at:.1f} s.',
                'INFO',
            )
            return True
        return False

    def store(self, key: str, environment: InstalledEnvironment) -> Store:
        """Returns what stores the environment when it is called, typically in the background."""
        damaged = frozenset(self._damaged)
        return lambda policy: EnvironmentStore(self.storage, self.location, self.author, policy, damaged).run(
            key, environment
        )

    def _list(self, key: str) -> List[ObjectInfo]:
        try:
            return list_entries(self.storage, self.location, key, self.policy)
        except (UnusableEntry, StorageRejected, TransientError) as error:
            self.log(f'The cache of environments is not used: {error}', 'WARNING')
            return []
