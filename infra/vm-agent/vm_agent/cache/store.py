"""Stores an environment in the cache as one object, which is created only under its own digest."""

import hashlib
import os
import shutil
import threading
import time
from dataclasses import dataclass
from typing import Callable, FrozenSet, Iterator, Optional

from vm_agent.cache.entries import ENTRIES_MAX, CacheLocation, UnusableEntry, list_entries
from vm_agent.cache.files import InstalledEnvironment, NotCacheable, describe_file
from vm_agent.cache.scripts import ORIGIN_FILE, write_origin
from vm_agent.cache.tar import TarFailed, pack
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.transfer.client import Author, PreconditionFailed, Storage, StorageRejected, Upload

NICENESS = 15
RETRY_TRIES_MAX = 4
RETRY_SECONDS_MAX = 30.0
# A job's VM is billed until it has ended.
GRACE_SECONDS_MAX = 30.0
DISK_SHARE_MAX = 0.5

Store = Callable[[RetryPolicy], str]
"""Stores one environment, and returns what has become of it, as a sentence."""


class _Archive:
    """The archive of an environment as the body of an upload: packed for its digest, and again for each try."""

    def __init__(self, environment: InstalledEnvironment, cancelled: threading.Event) -> None:
        self._environment = environment
        self._cancelled = cancelled
        self.size_bytes = 0
        sha256, self._md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        for piece in self._pack():
            sha256.update(piece)
            self._md5.update(piece)
            self.size_bytes += len(piece)
        self.sha256 = sha256.hexdigest()

    def md5(self) -> bytes:
        return self._md5.digest()

    def __iter__(self) -> Iterator[bytes]:
        """Cloud Storage rejects other bytes than those of the first time by their MD5, but not another number."""
        left_bytes = self.size_bytes
        for piece in self._pack():
            left_bytes -= len(piece)
            if left_bytes < 0:
                break
            yield piece
        if left_bytes != 0:
            raise NotCacheable('a file has changed while it was stored')

    def _pack(self) -> Iterator[bytes]:
        paths = [ORIGIN_FILE, *(file.path for file in self._environment.files)]
        for piece in pack(self._environment.venv, paths):
            if self._cancelled.is_set():
                raise TransientError('the VM is ending.')
            yield piece


@dataclass(frozen=True)
class EnvironmentStore:
    storage: Storage
    location: CacheLocation
    author: Author
    policy: RetryPolicy
    damaged: FrozenSet[str]
    """The names of the entries that have other bytes than were stored."""

    def run(self, key: str, environment: InstalledEnvironment) -> str:
        """Does not raise: the cache never fails a job."""
        try:
            return self._store(key, environment)
        except (NotCacheable, TarFailed) as error:
            return f'The environment is not stored in the cache: {error}.'
        except (UnusableEntry, StorageRejected, TransientError, OSError) as error:
            return f'The environment could not be stored in the cache: {str(error).rstrip(".")}.'

    def _store(self, key: str, environment: InstalledEnvironment) -> str:
        if environment.size_bytes > self.location.entry_bytes_max:
            limit = self.location.entry_bytes_max
            raise NotCacheable(f'it has {environment.size_bytes} bytes, and an entry may have {limit}')
        # In the embedded cloud, the bucket is on the disk that the program writes to.
        if environment.size_bytes > shutil.disk_usage(environment.venv).free * DISK_SHARE_MAX:
            raise NotCacheable(f'it has {environment.size_bytes} bytes, and little space is left on the disk')
        write_origin(environment.venv)
        archive = _Archive(environment, self.policy.cancelled)
        for file in environment.files:
            if describe_file(environment.venv, file.path) != file:
                raise NotCacheable(f'{file.path} has changed since it was installed')
        present = list_entries(self.storage, self.location, key, self.policy)
        if len(present) == ENTRIES_MAX or any(entry.name not in self.damaged for entry in present):
            return 'Another VM has stored the environment in the cache meanwhile.'
        name = self.location.entry(key, archive.sha256, environment.is_portable)
        upload = Upload(self.location.bucket, name, '0', self.author)
        try:
            call_with_retry(lambda: self.storage.insert(upload, archive), self.policy)
        except PreconditionFailed:
            # The answer to an earlier try was lost.
            pass
        size = f'{archive.size_bytes / 1e6:.0f} MB'
        return f'Stored the environment of {len(environment.distributions)} packages in the cache ({size}).'


class BackgroundStore:
    """Stores an environment while the program runs: at a low priority, in one thread, one request at a time."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        self._log = log
        self._cancelled = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._grace_seconds = 0.0

    def start(self, store: Store, installed_seconds: float) -> None:
        """Called at most once. After the program's end, storing may take as long as it spares the next start."""
        self._grace_seconds = min(installed_seconds, GRACE_SECONDS_MAX)
        self._thread = threading.Thread(target=self._run, args=(store,), name='cache-store', daemon=True)
        self._thread.start()

    def finish(self, is_stopping: bool) -> None:
        """Ends it, at once if the VM is to stop: then nothing is stored."""
        if self._thread is not None and not is_stopping:
            self._thread.join(self._grace_seconds)
        self._cancelled.set()

    def _run(self, store: Store) -> None:
        _lower_priority()
        started_at = time.monotonic()
        sentence = store(RetryPolicy(RETRY_TRIES_MAX, RETRY_SECONDS_MAX, self._cancelled))
        self._log(f'{sentence} It took {time.monotonic() - started_at:.1f} s.', 'INFO')


def _lower_priority() -> None:
    """On Linux, a thread has a niceness of its own (man 2 setpriority, "C library/kernel differences")."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    except OSError:
        return
