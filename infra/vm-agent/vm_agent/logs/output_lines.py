"""Lines of a process's output: split from its byte stream, and the last ones kept as evidence; in bounded memory."""

import codecs
import threading
from collections import deque
from typing import Deque, Iterator, Optional, Tuple

from vm_agent.logs.mask import Mask

LINE_CHARS_MAX = 16_384
TAIL_CHARS_MAX = 65_536


class LineSplitter:
    """
    Splits bytes into masked lines without their line ends; lines over LINE_CHARS_MAX are split into several. Of text
    that carriage returns overwrite (a progress bar), only the last state is kept, as a terminal would show it.
    """

    def __init__(self, mask: Optional[Mask] = None) -> None:
        self._mask = mask or Mask()
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self._pending = ''

    def feed(self, data: bytes) -> Iterator[str]:
        return self._split(self._decoder.decode(data))

    def finish(self) -> Iterator[str]:
        """Yields what is left at the end of the stream."""
        yield from self._split(self._decoder.decode(b'', final=True))
        last = self._mask(_last_state(self._pending))
        self._pending = ''
        if last:
            yield from _chunks(last)

    def _split(self, text: str) -> Iterator[str]:
        *complete, rest = (self._pending + text).split('\n')
        for line in complete:
            # Masked before it is split, so that no secret is split.
            yield from _chunks(self._mask(_last_state(line)))
        # A trailing carriage return may be the first half of a line end: the text before it is kept.
        ending = '\r' if rest.endswith('\r') else ''
        self._pending = _last_state(rest) + ending
        # The margin of one secret's length keeps a secret together of which only the first part has arrived.
        chars_max = LINE_CHARS_MAX + self._mask.chars_max
        if len(self._pending) > chars_max:
            self._pending = self._mask(self._pending)
        while len(self._pending) > chars_max:
            yield self._pending[:LINE_CHARS_MAX]
            self._pending = self._pending[LINE_CHARS_MAX:]


class OutputTail:
    """Keeps the last lines of a stream, up to TAIL_CHARS_MAX characters. Thread-safe."""

    def __init__(self) -> None:
        self._lines: Deque[str] = deque()
        self._chars = 0
        self._lock = threading.Lock()

    def add(self, line: str) -> None:
        with self._lock:
            self._lines.append(line)
            self._chars += len(line) + 1
            while self._chars > TAIL_CHARS_MAX and len(self._lines) > 1:
                self._chars -= len(self._lines.popleft()) + 1

    def lines(self) -> Tuple[str, ...]:
        with self._lock:
            return tuple(self._lines)


def _last_state(line: str) -> str:
    return line.rstrip('\r').rpartition('\r')[2]


def _chunks(line: str) -> Iterator[str]:
    yield line[:LINE_CHARS_MAX]
    for start in range(LINE_CHARS_MAX, len(line), LINE_CHARS_MAX):
        yield line[start : start + LINE_CHARS_MAX]
