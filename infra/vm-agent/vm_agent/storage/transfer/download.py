"""Downloads of objects into files: large ones in parallel ranges, each resumed after a broken connection."""

import base64
import errno
import hashlib
import os
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Tuple

from vm_agent.http.request import Request
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.transfer import crc32c
from vm_agent.storage.transfer.client import ObjectInfo, Storage

READ_BYTES = 262_144
# From this size on, several connections are faster than one.
PARALLEL_BYTES_MIN = 67_108_864
RANGE_BYTES = 33_554_432


class ContentMismatch(Exception):
    """The downloaded bytes are not the stored ones, by size or by checksum."""


def download_file(storage: Storage, expected: ObjectInfo, target: Path, policy: RetryPolicy) -> None:
    """
    Downloads one generation of an object to a file; the policy's tries and seconds start over whenever bytes have
    arrived. Raises StorageRejected, ContentMismatch if size or checksum differ from `expected`, OSError, or the last
    TransientError.
    """
    target.unlink(missing_ok=True)
    with open(target, 'wb') as file:
        if expected.size_bytes < PARALLEL_BYTES_MIN:
            digest = _Digest(is_md5=expected.md5 is not None)
            _Range(storage, expected, file.fileno(), (0, expected.size_bytes), digest).download(policy)
            _check(expected, digest)
        else:
            _reserve(file.fileno(), expected.size_bytes)
            _check_ranges(expected, _download_ranges(storage, expected, file.fileno(), policy))


def _download_ranges(
    storage: Storage, expected: ObjectInfo, descriptor: int, policy: RetryPolicy
) -> List[Tuple['_Digest', int]]:
    """Returns the checksum and the size of each range; the ranges are the parts, if their MD5 is known."""
    range_bytes = RANGE_BYTES if expected.parts is None else expected.parts.part_bytes

    def download(start: int) -> Tuple[_Digest, int]:
        end = min(start + range_bytes, expected.size_bytes)
        digest = _Digest(is_md5=expected.parts is not None)
        _Range(storage, expected, descriptor, (start, end), digest).download(policy)
        return digest, end - start

    return storage.transfers.map(download, range(0, expected.size_bytes, range_bytes))


def _check_ranges(expected: ObjectInfo, ranges: Sequence[Tuple['_Digest', int]]) -> None:
    if expected.parts is not None:
        digests = b''.join(digest.md5.digest() for digest, _ in ranges if digest.md5 is not None)
        _compare('MD5', hashlib.md5(digests, usedforsecurity=False).digest(), expected.parts.md5)
        return
    total = (0, 0)
    for digest, size_bytes in ranges:
        total = crc32c.concatenate(total, (digest.crc, size_bytes))
    _compare('CRC32C', total[0].to_bytes(4, 'big'), expected.crc32c)


def _reserve(descriptor: int, size_bytes: int) -> None:
    """Allocates the space of the file first, so that a full disk is found before anything is downloaded."""
    reserve: Optional[Callable[[int, int, int], None]] = getattr(os, 'posix_fallocate', None)
    try:
        if reserve is not None:
            reserve(descriptor, 0, size_bytes)
    except OSError as error:
        # Not every file system can.
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
    os.ftruncate(descriptor, size_bytes)


class _Digest:
    """The checksum of the bytes so far: MD5 if it is known, which is faster and runs in parallel, otherwise CRC32C."""

    def __init__(self, is_md5: bool) -> None:
        self.crc = 0
        self.md5 = hashlib.md5(usedforsecurity=False) if is_md5 else None

    def update(self, piece: bytes) -> None:
        if self.md5 is None:
            self.crc = crc32c.extend(self.crc, piece)
        else:
            self.md5.update(piece)


class _Range:
    """A range of one generation of an object, which is written to the same range of a file."""

    def __init__(
        self, storage: Storage, expected: ObjectInfo, descriptor: int, limits: Tuple[int, int], digest: _Digest
    ) -> None:
        self._storage = storage
        self._expected = expected
        self._descriptor = descriptor
        self._start, self._end = limits
        self._digest = digest
        self._position = self._start

    def download(self, policy: RetryPolicy) -> None:
        call_with_retry(lambda: self._download_rest(policy), policy, progress=lambda: self._position)

    def _download_rest(self, policy: RetryPolicy) -> None:
        if self._position >= self._end:
            return
        info = self._expected
        is_whole = self._position == 0 and self._end == info.size_bytes
        headers = {} if is_whole else {'Range': f'bytes={self._position}-{self._end - 1}'}
        with self._storage.open(Request('GET', self._storage.media_url(info), headers)) as response:
            # A server that ignores the range sends all bytes from the first one.
            skipped_bytes = self._position if response.status == 200 else 0
            while piece := response.read(READ_BYTES):
                if policy.cancelled.is_set():
                    raise TransientError('The download was canceled: the VM is stopping.')
                self._write(piece[skipped_bytes:])
                skipped_bytes = max(0, skipped_bytes - len(piece))
        if self._position < self._end:
            done_bytes = self._position - self._start
            raise TransientError(f'The download ended after {done_bytes} of {self._end - self._start} bytes.')

    def _write(self, piece: bytes) -> None:
        is_last = self._end == self._expected.size_bytes
        if is_last and len(piece) > self._end - self._position:
            raise ContentMismatch(f'The download has more than the expected {self._expected.size_bytes} bytes.')
        left = memoryview(piece)[: self._end - self._position]
        self._digest.update(bytes(left) if len(left) < len(piece) else piece)
        while left:
            written_bytes = os.pwrite(self._descriptor, left, self._position)
            self._position += written_bytes
            left = left[written_bytes:]


def _check(expected: ObjectInfo, digest: _Digest) -> None:
    if digest.md5 is None:
        _compare('CRC32C', digest.crc.to_bytes(4, 'big'), expected.crc32c)
    else:
        _compare('MD5', digest.md5.digest(), expected.md5)


def _compare(name: str, digest: bytes, stored: Optional[str]) -> None:
    actual = base64.b64encode(digest).decode('ascii')
    if stored and actual != stored:
        raise ContentMismatch(f'The {name} of the download is {actual}, not {stored}.')
