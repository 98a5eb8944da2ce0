"""Restores a cached environment, whose archive is unpacked while it is downloaded."""

import hashlib
import shutil
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Deque, Iterator, Optional

from vm_agent.cache.entries import DamagedEntry, UnusableEntry, sha256_of
from vm_agent.cache.scripts import read_origin, relocate_script
from vm_agent.cache.tar import TarFailed, unpack
from vm_agent.http.request import Request
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.transfer.client import ObjectInfo, Storage, raise_for_status

# Several connections are faster than one. Their product limits the agent's memory.
RANGE_BYTES = 8_388_608
RANGES_AHEAD = 4
# An environment may not fill the disk that the job's outputs need.
DISK_SHARE_MAX = 0.9


@dataclass(frozen=True)
class EnvironmentRestore:
    storage: Storage
    venv: Path
    """Exists, and has no packages."""
    bytes_max: int
    policy: RetryPolicy

    def run(self, entry: ObjectInfo) -> None:
        """
        Raises DamagedEntry, UnusableEntry, StorageRejected, TransientError, OSError or MemoryError; the environment is
        then unusable.
        """
        if entry.size_bytes > min(self.bytes_max, int(shutil.disk_usage(self.venv).free * DISK_SHARE_MAX)):
            raise UnusableEntry(f'it has {entry.size_bytes} bytes, more than its limit or the space on the disk')
        digest = hashlib.sha256()

        def received() -> Iterator[bytes]:
            for piece in self._ranges(entry):
                digest.update(piece)
                yield piece

        pieces = received()
        failure: Optional[TarFailed] = None
        try:
            unpack(self.venv, pieces)
        except TarFailed as error:
            failure = error
        # Whatever ended tar, only the bytes show whether the entry is damaged.
        for _ in pieces:
            pass
        if digest.hexdigest() != sha256_of(entry):
            raise DamagedEntry('it has other bytes than were stored')
        if failure is not None:
            raise UnusableEntry(f'it cannot be unpacked: {failure}')
        self._relocate_scripts()

    def _ranges(self, entry: ObjectInfo) -> Iterator[bytes]:
        """Yields the bytes in their order, and downloads those that follow in the meantime."""
        pending: Deque['Future[bytes]'] = deque()
        with ThreadPoolExecutor(RANGES_AHEAD, 'cache-restore') as pool:
            try:
                for start in range(0, entry.size_bytes, RANGE_BYTES):
                    pending.append(pool.submit(self._download, entry, start))
                    if len(pending) == RANGES_AHEAD:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()

    def _download(self, entry: ObjectInfo, start: int) -> bytes:
        end = min(start + RANGE_BYTES, entry.size_bytes)
        request = Request('GET', self.storage.media_url(entry), {'Range': f'bytes={start}-{end - 1}'})
        body = raise_for_status(call_with_retry(lambda: self.storage.call(request), self.policy)).body
        if len(body) != end - start:
            raise TransientError(f'{len(body)} bytes were received of {entry.name} instead of {end - start}.')
        return body

    def _relocate_scripts(self) -> None:
        try:
            old_python = read_origin(self.venv)
        except (OSError, ValueError) as error:
            raise UnusableEntry(f'it does not say where it was installed: {error}') from error
        new_python = str(self.venv / 'bin' / 'python')
        for script in (self.venv / 'bin').iterdir() if new_python != old_python else ():
            if script.is_file() and not script.is_symlink():
                relocate_script(script, old_python, new_python)
