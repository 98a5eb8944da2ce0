"""Writes TensorFlow event files for tests, byte by byte as their format is documented."""

import struct
from typing import Sequence

from vm_agent.storage.transfer import crc32c

FLOAT, DOUBLE, INT32, STRING, INT64, BFLOAT16, HALF = 1, 2, 3, 7, 9, 14, 19


def record(data: bytes) -> bytes:
    length = struct.pack('<Q', len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def event(values: bytes, step: int = 0, wall_time: float = 0.0) -> bytes:
    """An Event with the values of its summary."""
    return fixed64(1, wall_time) + number(2, step) + content(5, values)


def simple_value(tag: str, value: float) -> bytes:
    """A scalar as TensorFlow 1, PyTorch and tensorboardX write it."""
    return content(1, content(1, tag.encode()) + fixed32(2, value))


def tensor_value(tag: str, tensor: bytes) -> bytes:
    """A scalar as TensorFlow 2 and Keras write it."""
    return content(1, content(1, tag.encode()) + content(9, b'') + content(8, tensor))


def tensor(dtype: int, values: bytes, dimension_count: int = 0) -> bytes:
    shape = b''.join(content(2, number(1, 2)) for _ in range(dimension_count))
    return number(1, dtype) + content(2, shape) + values


def scalar_file(tag: str, values: Sequence[float], first_step: int = 1, wall_time: float = 0.0) -> bytes:
    """One event a value, a second apart, after the version that every file begins with."""
    version = record(fixed64(1, wall_time) + content(3, b'brain.Event:2'))
    return version + b''.join(
        record(event(simple_value(tag, value), first_step + index, wall_time + index if wall_time else 0.0))
        for index, value in enumerate(values)
    )


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & 0xFFFFFFFFFFFFFFFF)


def content(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def fixed32(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack('<f', value)


def fixed64(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack('<d', value)


def packed(value: int) -> bytes:
    """A list of one number."""
    return _varint(value & 0xFFFFFFFFFFFFFFFF)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _masked_crc(data: bytes) -> bytes:
    crc = crc32c.extend(0, data)
    return struct.pack('<I', ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
