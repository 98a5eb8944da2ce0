"""Stores an environment in the cache: first its parts, then the manifest, each only if the object does not exist."""

import hashlib
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Optional, Sequence

from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.cache.entry import (
    MANIFEST_BYTES_MAX,
    CachedFile,
    Manifest,
    Part,
    Slice,
    plan_parts,
    write_manifest,
)
from vm_agent.cache.location import CacheLocation, current_week
from vm_agent.cache.files import InstalledEnvironment, InstalledFile, NotCacheable, describe_file
from vm_agent.cache.key import cpu_features
from vm_agent.storage.body import MemoryBody
from vm_agent.storage.client import Author, PreconditionFailed, Storage, StorageRejected, Upload

NICENESS = 15
RETRY_TRIES_MAX = 4
RETRY_SECONDS_MAX = 30.0
# A job's VM is billed until it has ended.
GRACE_SECONDS_MAX = 30.0

Store = Callable[[RetryPolicy], str]
"""Stores one environment, and returns what has become of it, as a sentence."""


@dataclass(frozen=True)
class EnvironmentStore:
    storage: Storage
    location: CacheLocation
    author: Author
    policy: RetryPolicy
    is_second: bool = False
    """Whether there is an entry that could not be restored."""

    def run(self, key: str, environment: InstalledEnvironment) -> str:
        """Does not raise: the cache never fails a job."""
        try:
            return self._store(key, environment, time.time())
        except NotCacheable as error:
            return f'The environment is not stored in the cache: {error}.'
        except (StorageRejected, TransientError, OSError) as error:
            return f'The environment could not be stored in the cache: {error}'

    def _store(self, key: str, environment: InstalledEnvironment, now: float) -> str:
        if environment.size_bytes > self.location.entry_bytes_max:
            limit = self.location.entry_bytes_max
            raise NotCacheable(f'it has {environment.size_bytes} bytes, and an entry may have {limit}')
        week = current_week(now)
        by_path = {file.path: file for file in environment.files}
        files = tuple(
            CachedFile(file.path, file.size_bytes, file.mode, file.modified_at_ns) for file in environment.files
        )
        parts: List[Part] = []
        is_new = True
        for slices in plan_parts(files):
            body = _read(environment.venv, slices, by_path.__getitem__)
            part = Part(hashlib.sha256(body).hexdigest(), len(body))
            is_new = self._upload_part(self.location.part(week, part.sha256), body, is_new)
            parts.append(part)
        manifest = write_manifest(
            Manifest(
                key=key,
                created_at=now,
                python=str(environment.venv / 'bin' / 'python'),
                cpu='' if environment.is_portable else cpu_features(),
                distributions=environment.distributions,
                files=files,
                parts=tuple(parts),
            )
        )
        if len(manifest) > MANIFEST_BYTES_MAX:
            raise NotCacheable(f'its manifest has {len(manifest)} bytes')
        is_stored = self._create(self.location.entry(week, key), manifest)
        if not is_stored and self.is_second:
            is_stored = self._create(self.location.second_entry(week, key), manifest)
        if not is_stored:
            return 'Another VM has stored the environment in the cache meanwhile.'
        size = f'{environment.size_bytes / 1e6:.0f} MB'
        return f'Stored the environment of {len(environment.distributions)} packages in the cache ({size}).'

    def _upload_part(self, name: str, body: bytes, is_new: bool) -> bool:
        """Returns whether the part did not exist. Looks first if the previous one did: a request instead of a part."""
        if not is_new and call_with_retry(lambda: self.storage.stat(self.location.bucket, name), self.policy):
            return False
        return self._create(name, body)

    def _create(self, name: str, body: bytes) -> bool:
        """Returns False if the object exists: the first writer wins."""
        if self.policy.cancelled.is_set():
            raise TransientError('the VM is ending.')
        upload = Upload(self.location.bucket, name, '0', self.author)
        try:
            call_with_retry(lambda: self.storage.insert(upload, MemoryBody(body)), self.policy)
        except PreconditionFailed:
            return False
        except StorageRejected as error:
            # An account that may create objects, but not replace them, gets this answer instead of 412.
            if error.status == 403 and self.storage.stat(self.location.bucket, name) is not None:
                return False
            raise
        return True


def _read(venv: Path, slices: Sequence[Slice], described: Callable[[str], InstalledFile]) -> bytes:
    """Raises NotCacheable if a file has changed since it was installed, by the program for example."""
    body = bytearray()
    for one in slices:
        with open(venv / one.file.path, 'rb') as file:
            body += os.pread(file.fileno(), one.size_bytes, one.file_offset)
        if describe_file(venv, one.file.path) != described(one.file.path):
            raise NotCacheable(f'{one.file.path} has changed since it was installed')
    if len(body) != sum(one.size_bytes for one in slices):
        raise NotCacheable('a file was truncated while it was read')
    return bytes(body)


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
        """Ends it, at once if the VM is to stop. The next attempt finds what was uploaded of large files."""
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
