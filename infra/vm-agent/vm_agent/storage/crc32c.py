"""CRC32C in Cloud Storage's encoding: big-endian, in base64 (cloud.google.com/storage/docs/data-validation)."""

import base64
import importlib
import struct
from typing import Callable, List

POLYNOMIAL = 0x82F63B78


def _make_tables() -> List[List[int]]:
    """Returns tables for slicing-by-8: table k advances a byte past k further bytes, so that one step takes 8 bytes."""
    first = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        first.append(value)
    tables = [first]
    for _ in range(7):
        tables.append([(value >> 8) ^ first[value & 0xFF] for value in tables[-1]])
    return tables


_TABLES = _make_tables()


def extend_in_python(crc: int, data: bytes) -> int:
    """Returns the CRC of the data that has `crc`, followed by `data`; the CRC of no data is 0."""
    t0, t1, t2, t3, t4, t5, t6, t7 = _TABLES
    crc ^= 0xFFFFFFFF
    aligned_bytes = len(data) & ~7
    for (eight_bytes,) in struct.iter_unpack('<Q', data[:aligned_bytes]):
        word = eight_bytes ^ crc
        crc = (
            t7[word & 0xFF]
            ^ t6[word >> 8 & 0xFF]
            ^ t5[word >> 16 & 0xFF]
            ^ t4[word >> 24 & 0xFF]
            ^ t3[word >> 32 & 0xFF]
            ^ t2[word >> 40 & 0xFF]
            ^ t1[word >> 48 & 0xFF]
            ^ t0[word >> 56]
        )
    for byte in data[aligned_bytes:]:
        crc = (crc >> 8) ^ t0[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


try:
    # A C extension, part of Google's machine images.
    extend: Callable[[int, bytes], int] = importlib.import_module('google_crc32c').extend
except ImportError:
    extend = extend_in_python


def encode(crc: int) -> str:
    return base64.b64encode(crc.to_bytes(4, 'big')).decode('ascii')
