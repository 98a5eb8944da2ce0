"""
The scalars of one Event message of a TensorFlow event file, read without TensorFlow
(github.com/tensorflow/tensorflow: core/util/event.proto, core/framework/summary.proto, tensor.proto).
"""

import struct
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Tuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
TAG_BYTES_MAX = 1_024
# The encodings of TensorProto by dtype: how tensor_content encodes a number, and the field of typed values.
DTYPES: Mapping[int, Tuple[str, int]] = {
    1: ('<f', 5),
    2: ('<d', 6),
    3: ('<i', 7),
    4: ('<B', 7),
    5: ('<h', 7),
    6: ('<b', 7),
    9: ('<q', 10),
    17: ('<H', 7),
    22: ('<I', 16),
    23: ('<Q', 17),
}
HALF, BFLOAT16, HALF_FIELD = 19, 14, 13


class Scalar(NamedTuple):
    tag: str
    step: int
    wall_time: float
    """Seconds since the epoch; 0 if the writer has set none."""
    value: float


def scalars_of(event: bytes) -> List[Scalar]:
    """Returns the scalars of an Event: none if it has none, or is not an Event."""
    try:
        return list(_scalars_of(event))
    except (ValueError, struct.error, TypeError, IndexError):
        return []


def _scalars_of(event: bytes) -> Iterator[Scalar]:
    wall_time, step = 0.0, 0
    summaries = []
    for number, value in _fields(event):
        if number == 1:
            (wall_time,) = struct.unpack('<d', value)
        elif number == 2:
            step = _signed(value)
        elif number == 5:
            summaries.append(value)
    for summary in summaries:
        for number, value in _fields(summary):
            if number == 1:
                yield from _scalar_of(value, step, wall_time)


def _scalar_of(summary: bytes, step: int, wall_time: float) -> Iterator[Scalar]:
    fields = dict(_fields(summary))
    tag = fields.get(1, b'')
    # `simple_value` is written by TensorFlow 1, PyTorch and tensorboardX, `tensor` by TensorFlow 2 and Keras.
    value = _single(fields[2]) if 2 in fields else _number_of(fields.get(8))
    if value is not None and 0 < len(tag) <= TAG_BYTES_MAX:
        yield Scalar(tag.decode('utf-8', 'replace'), step, wall_time, float(value))


def _number_of(tensor: Optional[bytes]) -> Optional[float]:
    """Returns the number of a tensor without dimensions; None for any other tensor."""
    if tensor is None:
        return None
    fields = dict(_fields(tensor))
    dtype, shape, content = fields.get(1), fields.get(2, b''), fields.get(4)
    if shape != b'' or not isinstance(dtype, int):
        return None
    if dtype in (HALF, BFLOAT16):
        bits = _bits_of(content, fields.get(HALF_FIELD))
        return struct.unpack('<e', bits)[0] if dtype == HALF else struct.unpack('<f', b'\0\0' + bits)[0]
    if dtype not in DTYPES:
        return None
    form, typed = DTYPES[dtype]
    if content:
        return _single(content) if form == '<f' else struct.unpack(form, content)[0]
    value = fields.get(typed)
    if value is None:
        # A tensor without values is filled with zeros.
        return 0.0
    if isinstance(value, int):
        return _signed(value)
    if form == '<f':
        return _single(value)
    return struct.unpack(form, value)[0] if form == '<d' else _signed(_varint(value, 0)[0])


def _single(encoded: bytes) -> float:
    """Returns the shortest decimal that is this single-precision number: 0.9, not 0.8999999761581421."""
    (value,) = struct.unpack('<f', encoded)
    if value != value or value in (float('inf'), float('-inf')):
        return value
    shortest = (float(f'{value:.{digits}g}') for digits in (6, 7, 8))
    return next((one for one in shortest if _pack(one) == encoded), value)


def _pack(value: float) -> bytes:
    try:
        return struct.pack('<f', value)
    except OverflowError:
        return b''


def _bits_of(content: Optional[bytes], typed: Any) -> bytes:
    """Returns the two bytes of a half-precision number."""
    if content:
        return content[:2]
    bits = 0 if typed is None else typed if isinstance(typed, int) else _varint(typed, 0)[0]
    return struct.pack('<H', bits & 0xFFFF)


def _fields(message: bytes) -> Iterator[Tuple[int, Any]]:
    """Yields number and value of each field: an int for varints, otherwise bytes. Raises ValueError."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        elif kind == BYTES:
            size, at = _varint(message, at)
        else:
            raise ValueError(f'{kind} is not a wire type of an event.')
        if at + size > len(message):
            raise ValueError('A field is longer than its message.')
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ValueError('A number does not end.')


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
