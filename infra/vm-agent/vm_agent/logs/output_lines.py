"""A process's output: masked blocks of its byte stream, their lines, and the last ones as evidence; in bounded memory."""

import codecs
import threading
import time
from collections import deque
from typing import Callable, Deque, Iterator, Optional, Tuple

from vm_agent.logs.mask import Mask

LINE_CHARS_MAX = 16_384
TAIL_BYTES_MAX = 65_536
# A line without an end is held back up to this size, so that no secret in it is cut.
PENDING_BYTES_MAX = 262_144
# Between two states of a line that is overwritten.
STATE_SECONDS = 10.0


class BlockSplitter:
    """
    Cuts a byte stream into masked blocks that end with a line end or a carriage return. A longer line is cut where no
    secret can be cut. Its cost depends on the number of bytes, not of lines.
    """

    def __init__(self, mask: Optional[Mask] = None) -> None:
        self._mask = mask or Mask()
        self._pending = b''

    def feed(self, data: bytes) -> bytes:
        """Returns what is complete; empty if nothing is."""
        data = self._pending + data
        end = max(data.rfind(b'\n'), data.rfind(b'\r')) + 1
        # Masked before it is cut, so that no secret is cut.
        complete, self._pending = self._mask.mask_bytes(data[:end]), data[end:]
        if len(self._pending) <= PENDING_BYTES_MAX:
            return complete
        masked = self._mask.mask_bytes(self._pending)
        # The margin of one secret's length keeps a secret together of which only the first part has arrived.
        cut = max(0, len(masked) - self._mask.bytes_max)
        self._pending = masked[cut:]
        return complete + masked[:cut]

    def finish(self) -> bytes:
        """Returns what is left at the end of the stream."""
        rest, self._pending = self._mask.mask_bytes(self._pending), b''
        return rest


class LineSplitter:
    """
    Splits masked blocks into lines without their line ends; lines over LINE_CHARS_MAX are split into several. Of text
    that carriage returns overwrite (a progress bar), the last state is kept, as a terminal would show it, and one every
    STATE_SECONDS: some programs print nothing else.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._state_at = clock()
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self._pending = ''

    def feed(self, block: bytes) -> Iterator[str]:
        return self._split(self._decoder.decode(block))

    def finish(self) -> Iterator[str]:
        """Yields what is left at the end of the stream."""
        yield from self._split(self._decoder.decode(b'', final=True))
        last = _last_state(self._pending)
        self._pending = ''
        if last:
            yield from _chunks(last)

    def _split(self, text: str) -> Iterator[str]:
        *complete, rest = (self._pending + text).split('\n')
        for line in complete:
            yield from _chunks(_last_state(line))
        # A trailing carriage return may be the first half of a line end: the text before it is kept.
        ending = '\r' if rest.endswith('\r') else ''
        self._pending = _last_state(rest) + ending
        if complete:
            self._state_at = self._clock()
        elif '\r' in rest and self._clock() - self._state_at >= STATE_SECONDS:
            self._state_at = self._clock()
            yield from _chunks(self._pending.rstrip('\r'))
        while len(self._pending) > LINE_CHARS_MAX:
            yield self._pending[:LINE_CHARS_MAX]
            self._pending = self._pending[LINE_CHARS_MAX:]


class OutputTail:
    """Keeps the last blocks of a stream, at least TAIL_BYTES_MAX bytes of it and at most one block more. Thread-safe."""

    def __init__(self) -> None:
        self._blocks: Deque[bytes] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, block: bytes) -> None:
        with self._lock:
            # One byte more shows whether the first line is complete.
            self._blocks.append(block[-TAIL_BYTES_MAX - 1 :])
            self._bytes += len(self._blocks[-1])
            while self._bytes - len(self._blocks[0]) > TAIL_BYTES_MAX:
                self._bytes -= len(self._blocks.popleft())

    def lines(self) -> Tuple[str, ...]:
        """Returns the last lines, up to TAIL_BYTES_MAX bytes."""
        with self._lock:
            return last_lines(b''.join(self._blocks), TAIL_BYTES_MAX)


def last_lines(data: bytes, bytes_max: int) -> Tuple[str, ...]:
    """Returns the lines of the last `bytes_max` bytes; the first one is left out if it is incomplete."""
    tail = data[-bytes_max:]
    first_end = tail.find(b'\n')
    if len(tail) < len(data) and data[-len(tail) - 1] != ord('\n') and first_end + 1 not in (0, len(tail)):
        tail = tail[first_end + 1 :]
    splitter = LineSplitter()
    return (*splitter.feed(tail), *splitter.finish())


def _last_state(line: str) -> str:
    return line.rstrip('\r').rpartition('\r')[2]


def _chunks(line: str) -> Iterator[str]:
    yield line[:LINE_CHARS_MAX]
    for start in range(LINE_CHARS_MAX, len(line), LINE_CHARS_MAX):
        yield line[start : start + LINE_CHARS_MAX]
