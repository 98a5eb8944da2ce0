"""The lines of a stream that look like an error: the first ones and the last ones, in bounded memory and time."""

import threading
from collections import deque
from typing import Deque, List, Optional, Sequence, Tuple

from vm_agent.logs.output_lines import LineSplitter

FIRST_LINES_MAX = 4
LAST_LINES_MAX = 4
LINE_BYTES_MAX = 2_000
# Without their first letters, so that one search finds them with and without a capital.
ERROR_WORDS = (b'rror', b'xception:', b'raceback (', b'ut of memory', b'OOM', b'illed', b'ation fault', b'o space left')


class ErrorLines:
    """
    Keeps lines that contain one of ERROR_WORDS. A block costs a few searches per word, however many of its lines match:
    only lines at its beginning and its end are kept. Thread-safe.
    """

    def __init__(self) -> None:
        self._first: List[str] = []
        self._last: Deque[str] = deque(maxlen=LAST_LINES_MAX)
        self._lock = threading.Lock()

    def add(self, block: bytes) -> None:
        """Adds a block of whole lines."""
        words = [word for word in ERROR_WORDS if word in block]
        if not words:
            return
        with self._lock:
            start = self._add_first(block, words)
            found: Deque[str] = deque()
            end = len(block)
            while len(found) < LAST_LINES_MAX:
                position = max(block.rfind(word, start, end) for word in words)
                if position < 0:
                    break
                end = max(start, _start_of(block, position))
                found.appendleft(_text_at(block, position))
            self._last.extend(found)

    def lines(self) -> Tuple[str, ...]:
        """Returns the first and the last lines that look like an error, in their order."""
        with self._lock:
            return (*self._first, *self._last)

    def _add_first(self, block: bytes, words: Sequence[bytes]) -> int:
        """Returns where the lines begin that are not among the first ones."""
        start = 0
        while len(self._first) < FIRST_LINES_MAX:
            position = _find_first(block, words, start)
            if position is None:
                return len(block)
            self._first.append(_text_at(block, position))
            start = _end_of(block, position)
        return start


def _find_first(block: bytes, words: Sequence[bytes], start: int) -> Optional[int]:
    positions = [position for position in (block.find(word, start) for word in words) if position >= 0]
    return min(positions) if positions else None


def _start_of(block: bytes, position: int) -> int:
    return block.rfind(b'\n', 0, position) + 1


def _end_of(block: bytes, position: int) -> int:
    end = block.find(b'\n', position)
    return len(block) if end < 0 else end + 1


def _text_at(block: bytes, position: int) -> str:
    """Returns the line at this position; of a long line, the part around it."""
    start = max(_start_of(block, position), position - LINE_BYTES_MAX // 2)
    end = min(_end_of(block, position), start + LINE_BYTES_MAX)
    splitter = LineSplitter()
    return ''.join((*splitter.feed(block[start:end]), *splitter.finish()))
