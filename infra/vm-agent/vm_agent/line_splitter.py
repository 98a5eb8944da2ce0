"""Bytes of a stream into lines of text, in bounded memory."""

import codecs
from typing import Iterator, Optional

from vm_agent.mask import Mask

LINE_CHARS_MAX = 16_384


class LineSplitter:
    """
    Lines without their ends; longer ones come in pieces. Of what a carriage return overwrote (a progress bar) only the
    last state is kept, as a terminal would show it. What the mask hides is hidden before a line is cut.
    """

    def __init__(self, mask: Optional[Mask] = None) -> None:
        self._mask = mask or Mask()
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self._pending = ''

    def feed(self, data: bytes) -> Iterator[str]:
        return self._split(self._decoder.decode(data))

    def finish(self) -> Iterator[str]:
        yield from self._split(self._decoder.decode(b'', final=True))
        last = self._mask(_shown(self._pending))
        self._pending = ''
        if last:
            yield from _pieces(last)

    def _split(self, text: str) -> Iterator[str]:
        *whole, rest = (self._pending + text).split('\n')
        for line in whole:
            yield from _pieces(self._mask(_shown(line)))
        # A carriage return at the end may be the first half of a line end: what stands before it stays.
        ending = '\r' if rest.endswith('\r') else ''
        self._pending = _shown(rest) + ending
        # A secret of which only the beginning has arrived lies in the margin, and is not cut.
        chars_max = LINE_CHARS_MAX + self._mask.chars_max
        if len(self._pending) > chars_max:
            self._pending = self._mask(self._pending)
        while len(self._pending) > chars_max:
            yield self._pending[:LINE_CHARS_MAX]
            self._pending = self._pending[LINE_CHARS_MAX:]


def _shown(line: str) -> str:
    return line.rstrip('\r').rpartition('\r')[2]


def _pieces(line: str) -> Iterator[str]:
    yield line[:LINE_CHARS_MAX]
    for start in range(LINE_CHARS_MAX, len(line), LINE_CHARS_MAX):
        yield line[start : start + LINE_CHARS_MAX]
