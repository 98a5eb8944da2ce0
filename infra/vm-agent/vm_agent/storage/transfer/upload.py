"""Uploads of files: by one request, or large ones in parallel parts that Cloud Storage composes."""

import base64
import hashlib
import os
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Iterator, List, Optional, Sequence, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.transfer import crc32c
from vm_agent.storage.transfer.body import Body, FileChanged, FileRange, MemoryBody
from vm_agent.storage.transfer.client import (
    COMPOSE_COUNT_MAX,
    ObjectInfo,
    PartsMd5,
    PreconditionFailed,
    Storage,
    StorageRejected,
    Upload,
)

# Read once, and sent from memory.
MEMORY_BYTES_MAX = 1_048_576
# From this size on, several connections are faster than one.
PARALLEL_BYTES_MIN = 67_108_864
# A part is sent by one request, and again from its start after a broken connection. There are as many as one compose
# request takes, unless they would be smaller or larger than this.
PART_BYTES_MIN = 16_777_216
PART_BYTES_MAX = 134_217_728
# A lifecycle rule of the jobs bucket deletes the parts that a killed agent leaves behind.
PART_SUFFIX = '.dropforge-part'
BAD_REQUEST, NOT_FOUND = 400, 404


@contextmanager
def open_upload(storage: Storage, path: Path) -> Iterator['FileUpload']:
    """Opens a file to be uploaded; deletes the parts that were not composed at the end. Raises OSError."""
    with open(path, 'rb') as file:
        upload = FileUpload(storage, file)
        try:
            yield upload
        finally:
            upload.delete_parts()


@dataclass
class FileUpload:
    """The upload of one file: `write` may be repeated with another precondition, and sends large files only once."""

    storage: Storage
    file: BinaryIO
    _parts: List[ObjectInfo] = field(default_factory=list)
    _parts_md5: Optional[PartsMd5] = None

    def write(self, upload: Upload, policy: RetryPolicy) -> ObjectInfo:
        """
        Writes the file's bytes to an object. Raises PreconditionFailed, StorageRejected, FileChanged, or the last
        TransientError.
        """
        before = os.fstat(self.file.fileno())
        if before.st_size < PARALLEL_BYTES_MIN:
            info = self._write_at_once(upload, before, policy)
        else:
            info = self._write_in_parts(upload, before, policy)
        if info.size_bytes != os.fstat(self.file.fileno()).st_size:
            raise FileChanged()
        return replace(info, modified_ns=before.st_mtime_ns)

    def delete_parts(self) -> None:
        """Deletes what was uploaded and not composed, without retries: a part that is left expires."""
        left, self._parts = self._parts, []
        delete_parts(self.storage, left)

    def _write_at_once(self, upload: Upload, before: os.stat_result, policy: RetryPolicy) -> ObjectInfo:
        body: Body = FileRange(self.file.fileno(), 0, before.st_size)
        if before.st_size <= MEMORY_BYTES_MAX:
            body = MemoryBody(b''.join(body))
        try:
            return call_with_retry(lambda: self.storage.insert(upload, body), policy)
        except PreconditionFailed:
            # The answer to an earlier try may be lost, as that to a part.
            current = call_with_retry(lambda: self.storage.stat(upload.bucket, upload.name), policy)
            md5 = base64.b64encode(body.md5()).decode('ascii')
            own = (upload.author, md5, body.size_bytes)
            if current is None or (current.author, current.md5, current.size_bytes) != own:
                raise
            return current
        except StorageRejected as rejection:
            # The MD5 was computed first.
            if rejection.status == BAD_REQUEST and self._has_changed(before):
                raise FileChanged() from rejection
            raise

    def _write_in_parts(self, upload: Upload, before: os.stat_result, policy: RetryPolicy) -> ObjectInfo:
        if not self._parts:
            # Before anything is sent that a conflict, or a later attempt, makes useless.
            _check_generation(self.storage, upload, policy)
            self._upload_parts(upload, before.st_size, policy)
        if self._has_changed(before):
            raise FileChanged()
        info = _compose(self.storage, replace(upload, parts=self._parts_md5), self._parts, policy)
        self._parts = []
        return info

    def _upload_parts(self, upload: Upload, size_bytes: int, policy: RetryPolicy) -> None:
        """Leaves at most COMPOSE_COUNT_MAX objects in `_parts`."""
        folder = f'{upload.parts_prefix}{uuid.uuid4().hex}'
        descriptor = self.file.fileno()

        def send(numbered: Tuple[int, FileRange]) -> ObjectInfo:
            part = upload.part(f'{folder}/{numbered[0]:06d}{PART_SUFFIX}')
            info = _insert_part(self.storage, part, numbered[1], policy)
            self._parts.append(info)
            return info

        parts = self.storage.transfers.map(send, enumerate(_cut(descriptor, size_bytes)))
        self._parts_md5 = _md5_of(parts)
        level = 0
        while len(parts) > COMPOSE_COUNT_MAX:
            level += 1
            groups = [parts[start : start + COMPOSE_COUNT_MAX] for start in range(0, len(parts), COMPOSE_COUNT_MAX)]

            def join(numbered: Tuple[int, Sequence[ObjectInfo]], level: int = level) -> ObjectInfo:
                group = upload.part(f'{folder}/{level}-{numbered[0]:06d}{PART_SUFFIX}')
                info = _compose(self.storage, group, numbered[1], policy)
                self._parts.append(info)
                return info

            parts = self.storage.transfers.map(join, enumerate(groups))
        self._parts = parts

    def _has_changed(self, before: os.stat_result) -> bool:
        now = os.fstat(self.file.fileno())
        return (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)


def _md5_of(parts: Sequence[ObjectInfo]) -> Optional[PartsMd5]:
    """Cloud Storage has compared the MD5 of each part with the one that was sent."""
    digests = [base64.b64decode(part.md5) for part in parts if part.md5 is not None]
    if len(digests) < len(parts):
        return None
    md5 = hashlib.md5(b''.join(digests), usedforsecurity=False).digest()
    return PartsMd5(parts[0].size_bytes, base64.b64encode(md5).decode('ascii'))


def delete_parts(storage: Storage, parts: Sequence[ObjectInfo]) -> None:
    """Deletes parts without retries, and without an error."""

    def delete(part: ObjectInfo) -> None:
        try:
            storage.delete(part)
        except (TransientError, StorageRejected, PreconditionFailed):
            return

    storage.transfers.map(delete, parts)


def _cut(descriptor: int, size_bytes: int) -> Iterator[FileRange]:
    part_bytes = min(max(PART_BYTES_MIN, -(-size_bytes // COMPOSE_COUNT_MAX)), PART_BYTES_MAX)
    for start in range(0, size_bytes, part_bytes):
        yield FileRange(descriptor, start, min(part_bytes, size_bytes - start))


def _check_generation(storage: Storage, upload: Upload, policy: RetryPolicy) -> None:
    current = call_with_retry(lambda: storage.stat(upload.bucket, upload.name), policy)
    if ('0' if current is None else current.generation) != upload.if_generation:
        raise PreconditionFailed()


def _insert_part(storage: Storage, part: Upload, body: Body, policy: RetryPolicy) -> ObjectInfo:
    """No other upload has this name: if the part exists, the answer of an earlier try was lost."""
    try:
        return call_with_retry(lambda: storage.insert(part, body), policy)
    except PreconditionFailed:
        current = call_with_retry(lambda: storage.stat(part.bucket, part.name), policy)
        if current is None:
            raise
        return current


def _compose(storage: Storage, upload: Upload, sources: Sequence[ObjectInfo], policy: RetryPolicy) -> ObjectInfo:
    """
    Raises as `Storage.compose`, except if the object is already composed: then the answer of an earlier try was lost.
    """
    total = (0, 0)
    for source in sources:
        total = crc32c.concatenate(total, (crc32c.decode(source.crc32c), source.size_bytes))
    expected = (upload.author, crc32c.encode(total[0]), total[1])
    try:
        info = call_with_retry(lambda: storage.compose(upload, sources), policy)
    except (PreconditionFailed, StorageRejected) as error:
        if isinstance(error, StorageRejected) and error.status != NOT_FOUND:
            raise
        current = call_with_retry(lambda: storage.stat(upload.bucket, upload.name), policy)
        if current is None or (current.author, current.crc32c, current.size_bytes) != expected:
            raise
        return current
    if (info.author, info.crc32c, info.size_bytes) != expected:
        raise TransientError(f'Cloud Storage composed {upload.name} of other bytes than those of its parts.')
    return info
