"""Bodies of uploads: bytes in memory, and ranges of files that are read while they are sent."""

import hashlib
import os
from typing import Iterator, Protocol

from vm_agent.http.request import StreamedBody

READ_BYTES = 262_144


class FileChanged(Exception):
    """The program wrote to the file during its upload; the next sync round uploads it again."""


class Body(StreamedBody, Protocol):
    def md5(self) -> bytes: ...


class MemoryBody:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size_bytes = len(content)

    def md5(self) -> bytes:
        return hashlib.md5(self._content, usedforsecurity=False).digest()

    def __iter__(self) -> Iterator[bytes]:
        yield self._content


class FileRange:
    """Bytes of an open file. Reading them raises FileChanged if the file has become shorter."""

    def __init__(self, descriptor: int, start: int, size_bytes: int) -> None:
        self._descriptor = descriptor
        self._start = start
        self.size_bytes = size_bytes

    def md5(self) -> bytes:
        digest = hashlib.md5(usedforsecurity=False)
        for piece in self:
            digest.update(piece)
        return digest.digest()

    def __iter__(self) -> Iterator[bytes]:
        position, end = self._start, self._start + self.size_bytes
        while position < end:
            piece = os.pread(self._descriptor, min(READ_BYTES, end - position), position)
            if not piece:
                raise FileChanged()
            yield piece
            position += len(piece)


class MultipartBody:
    """A body with bytes before and after it; sent with few system calls if it is small."""

    def __init__(self, start: bytes, body: Body, end: bytes) -> None:
        self._start = start
        self._body = body
        self._end = end
        self.size_bytes = len(start) + body.size_bytes + len(end)

    def __iter__(self) -> Iterator[bytes]:
        if self.size_bytes <= READ_BYTES:
            yield b''.join((self._start, *self._body, self._end))
        else:
            yield self._start
            yield from self._body
            yield self._end
