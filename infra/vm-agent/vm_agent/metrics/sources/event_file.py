"""
TensorFlow event files while they grow: records (length, its CRC, data, its CRC), each an Event. A file may be cut at
any byte, damaged, or not an event file at all; none of these raises an exception, and the memory is bounded.
"""

import struct
from typing import Callable, List, Optional, Tuple

from vm_agent.metrics.sources.event_protobuf import Scalar, scalars_of
from vm_agent.storage.transfer import crc32c

ReadAt = Callable[[int, int], bytes]
"""Returns the bytes from an offset on, at most so many; fewer at the end of the file."""

HEADER_BYTES = 12
FOOTER_BYTES = 4
# Larger records are images, audio and graphs: they are skipped without being read.
RECORD_BYTES_MAX = 4_194_304
# No writer makes such a record: the header is damaged although its CRC is right.
LENGTH_MAX = 1 << 40
WINDOW_BYTES = 262_144
# After damage, the next record is searched for. Each byte costs some microseconds.
SEARCH_BYTES_MAX = 32_768


class _Window:
    """Reads in larger pieces than records are."""

    def __init__(self, read_at: ReadAt) -> None:
        self._read_at = read_at
        self._start = 0
        self._data = b''

    def read(self, offset: int, size: int) -> bytes:
        start = offset - self._start
        if start < 0 or start + size > len(self._data):
            self._start, start = offset, 0
            self._data = self._read_at(offset, max(size, WINDOW_BYTES))
        return self._data[start : start + size]


def read_scalars(read_at: ReadAt, offset: int, bytes_max: int) -> Tuple[List[Scalar], int]:
    """
    Returns the scalars of the whole records from an offset on, and the offset at which to go on when the file has
    grown. Stops after about `bytes_max` bytes.
    """
    scalars: List[Scalar] = []
    window = _Window(read_at)
    end = offset + bytes_max
    searched = 0
    while offset < end:
        header = window.read(offset, HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            break
        length = _length_of(header)
        if length is None:
            if searched >= SEARCH_BYTES_MAX:
                break
            offset, searched = offset + 1, searched + 1
            continue
        searched = 0
        next_offset = offset + HEADER_BYTES + length + FOOTER_BYTES
        if length > RECORD_BYTES_MAX:
            is_whole = len(read_at(next_offset - 1, 1)) == 1
        else:
            data = window.read(offset + HEADER_BYTES, length + FOOTER_BYTES)
            is_whole = len(data) == length + FOOTER_BYTES
            if is_whole and _masked_crc(data[:length]) == struct.unpack_from('<I', data, length)[0]:
                scalars += scalars_of(data[:length])
        if not is_whole:
            break
        offset = next_offset
    return scalars, offset


def _length_of(header: bytes) -> Optional[int]:
    """Returns the length of a record's data; None if these bytes are not the header of a record."""
    length: int
    length, crc = struct.unpack('<QI', header)
    return length if _masked_crc(header[:8]) == crc and length <= LENGTH_MAX else None


def _masked_crc(data: bytes) -> int:
    """The checksum as TFRecord stores it (tensorflow.org/tutorials/load_data/tfrecord)."""
    crc = crc32c.extend(0, data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
