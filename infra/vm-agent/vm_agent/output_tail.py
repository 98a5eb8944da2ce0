"""The last lines of a stream, kept as evidence in bounded memory."""

import threading
from collections import deque
from typing import Deque, Tuple

TAIL_CHARS_MAX = 65_536


class OutputTail:
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
