"""Restores a cached environment: every part is verified before any of its bytes are written."""

import hashlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import List, Optional, Tuple

from vm_agent.http.request import Request
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.cache.entry import PART_BYTES, InvalidEntry, Manifest, Part, Slice, plan_parts, read_manifest
from vm_agent.cache.location import CacheLocation, weeks_to_search
from vm_agent.cache.key import cpu_features
from vm_agent.cache.scripts import relocate_script
from vm_agent.storage.client import Storage, StorageRejected

# With PART_BYTES, this limits the agent's memory.
PARTS_IN_MEMORY_MAX = 6
SCRIPTS_FOLDER = 'bin/'
# An environment may not fill the disk that the job's outputs need.
DISK_SHARE_MAX = 0.9


PlannedPart = Tuple[Part, Tuple[Slice, ...]]


@dataclass(frozen=True)
class FoundEntry:
    manifest: Manifest
    week: int


def find_entry(
    storage: Storage, location: CacheLocation, key: str, policy: RetryPolicy, is_second: bool = False
) -> Optional[FoundEntry]:
    """
    Returns the entry of this week or the last one, or None if there is none that may be used. `is_second`: the one that
    was stored beside an entry that cannot be restored. Raises InvalidEntry, StorageRejected or TransientError.
    """
    now = time.time()
    name_of = location.second_entry if is_second else location.entry
    for week in weeks_to_search(now):
        found = storage.read(location.bucket, name_of(week, key), policy)
        if found is not None:
            manifest = read_manifest(found[0], key)
            is_usable = now - manifest.created_at <= location.age_seconds_max and manifest.cpu in ('', cpu_features())
            return FoundEntry(manifest, week) if is_usable else None
    return None


@dataclass(frozen=True)
class EnvironmentRestore:
    storage: Storage
    location: CacheLocation
    venv: Path
    """Exists, and has none of the entry's files."""
    policy: RetryPolicy

    def run(self, entry: FoundEntry) -> None:
        """Raises InvalidEntry, StorageRejected, TransientError or OSError; the environment is then unusable."""
        manifest = entry.manifest
        free_bytes = shutil.disk_usage(self.venv).free
        if manifest.size_bytes > min(self.location.entry_bytes_max, int(free_bytes * DISK_SHARE_MAX)):
            raise InvalidEntry(f'it has {manifest.size_bytes} bytes, more than its limit or the space on the disk')
        planned = list(zip(manifest.parts, plan_parts(manifest.files)))
        self._create_files(manifest, planned)
        # Allocated once: memory that threads allocate and free for each part is not returned to the system.
        buffers: Queue[bytearray] = Queue()
        for _ in range(PARTS_IN_MEMORY_MAX):
            buffers.put(bytearray(PART_BYTES))

        def restore_part(planned_part: PlannedPart) -> None:
            part, slices = planned_part
            buffer = buffers.get()
            try:
                body = memoryview(buffer)[: part.size_bytes]
                self._download(entry.week, part, body)
                self._write(entry, slices, body)
            finally:
                buffers.put(buffer)

        self.storage.transfers.map(restore_part, planned)
        for file in manifest.files:
            os.utime(self.venv / file.path, ns=(file.modified_at_ns, file.modified_at_ns))

    def _create_files(self, manifest: Manifest, planned: List[PlannedPart]) -> None:
        """Creates the folders, and the files that no single part contains: links are never followed."""
        for folder in sorted({str(Path(file.path).parent) for file in manifest.files}):
            (self.venv / folder).mkdir(parents=True, exist_ok=True)
        whole = {one.file.path for _, slices in planned for one in slices if one.is_whole_file}
        for file in manifest.files:
            if file.path not in whole:
                os.close(self._create(file.path, file.mode))

    def _create(self, path: str, mode: int) -> int:
        return os.open(self.venv / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode | 0o200)

    def _download(self, week: int, part: Part, body: memoryview) -> None:
        url = f'{self.storage.object_url(self.location.bucket, self.location.part(week, part.sha256))}?alt=media'
        try:
            call_with_retry(lambda: self._read_part(url, part, body), self.policy)
        except StorageRejected as error:
            if error.status == 404:
                raise InvalidEntry(f'its part {part.sha256} is missing') from error
            raise
        if hashlib.sha256(body).hexdigest() != part.sha256:
            raise InvalidEntry(f'its part {part.sha256} has other bytes than were stored')

    def _read_part(self, url: str, part: Part, body: memoryview) -> None:
        if self.policy.cancelled.is_set():
            raise TransientError('The VM is stopping.')
        with self.storage.open(Request('GET', url, {})) as response:
            if response.headers.get('Content-Length') != str(part.size_bytes):
                raise InvalidEntry(f'its part {part.sha256} has another size than was stored')
            left = body
            while left:
                count = response.readinto(left)
                if count == 0:
                    raise TransientError(f'The download of {url} ended {len(left)} bytes early.')
                left = left[count:]

    def _write(self, entry: FoundEntry, slices: Tuple[Slice, ...], body: memoryview) -> None:
        for one in slices:
            data = body[one.part_offset : one.part_offset + one.size_bytes]
            if not one.is_whole_file:
                descriptor = os.open(self.venv / one.file.path, os.O_WRONLY | os.O_NOFOLLOW)
            else:
                descriptor = self._create(one.file.path, one.file.mode)
                if one.file.path.startswith(SCRIPTS_FOLDER):
                    data = memoryview(relocate_script(bytes(data), entry.manifest.python, self._python))
            try:
                _write_all(descriptor, data, one.file_offset)
            finally:
                os.close(descriptor)

    @property
    def _python(self) -> str:
        return str(self.venv / 'bin' / 'python')


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data, offset = data[count:], offset + count
