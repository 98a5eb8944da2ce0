"""Limits what a stream ships to the log service: what exceeds its allowance is folded, that is, counted and left out."""

import re
import time
from dataclasses import dataclass
from typing import Callable, Optional, Tuple

from vm_agent.logs.output_lines import last_lines

# The last lines of what was folded are shipped: the end of the output matters most.
LAST_LINES_MAX = 20
LAST_BYTES_MAX = 16_384
# Text that a carriage return overwrites with other text of the same block, as progress bars do. Tried only where a line
# or state begins: tried at every byte, a block with one long line would take the square of its length.
OVERWRITTEN = re.compile(rb'(?<![^\r\n])[^\r\n]*\r(?=[^\r\n])')


@dataclass(frozen=True)
class FoldLimits:
    """The rate limit of one stream. A burst is shipped at once; it refills at the rate per second."""

    bytes_max: int
    """In total, over the life of the agent's process."""
    lines_per_second: float = 500.0
    lines_burst: int = 5_000
    bytes_per_second: float = 262_144.0
    bytes_burst: int = 4_194_304


@dataclass(frozen=True)
class Folded:
    line_count: int
    size_bytes: int
    last: Tuple[str, ...]
    """The last lines, which are not counted and are still to be shipped."""


class Fold:
    def __init__(self, limits: FoldLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._refilled_at = clock()
        self._lines_left = float(limits.lines_burst)
        self._bytes_left = float(limits.bytes_burst)
        self._shipped_bytes = 0
        self._folded_lines = self._folded_bytes = 0
        self._last = b''

    @property
    def is_open(self) -> bool:
        """Whether output is being folded."""
        return self._folded_bytes > 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the total is reached, so that nothing more is shipped but the last lines."""
        return self._shipped_bytes >= self._limits.bytes_max

    def take(self, block: bytes, has_room: bool) -> bytes:
        """Returns the first part of a block, to be shipped; the rest is folded. `has_room`: in the shipper's queue."""
        if b'\r' in block:
            block = OVERWRITTEN.sub(b'', block)
        shipped = b''
        if has_room and not self.is_open:
            self._refill()
            bytes_left = min(int(self._bytes_left), self._limits.bytes_max - self._shipped_bytes)
            shipped = _prefix(block, int(self._lines_left), bytes_left)
            self._spend(shipped.count(b'\n'), len(shipped))
        rest = block[len(shipped) :]
        if rest:
            self._folded_lines += rest.count(b'\n') + (not rest.endswith(b'\n'))
            self._folded_bytes += len(rest)
            self._last = (self._last + rest[-LAST_BYTES_MAX:])[-LAST_BYTES_MAX:]
        return shipped

    def close(self, is_last: bool = False) -> Optional[Folded]:
        """Ends the folding if half of the burst has refilled, or at the end of the stream; None if it continues."""
        self._refill()
        limits = self._limits
        is_refilled = self._lines_left >= limits.lines_burst / 2 and self._bytes_left >= limits.bytes_burst / 2
        if not self.is_open or not (is_last or (is_refilled and not self.is_exhausted)):
            return None
        last = last_lines(self._last, LAST_BYTES_MAX)[-LAST_LINES_MAX:]
        last_bytes = sum(len(line.encode('utf-8', 'replace')) + 1 for line in last)
        folded = Folded(max(0, self._folded_lines - len(last)), max(0, self._folded_bytes - last_bytes), last)
        self._folded_lines = self._folded_bytes = 0
        self._last = b''
        self._spend(len(last), last_bytes)
        return folded

    def _refill(self) -> None:
        now = self._clock()
        seconds, self._refilled_at = now - self._refilled_at, now
        limits = self._limits
        self._lines_left = min(limits.lines_burst, self._lines_left + seconds * limits.lines_per_second)
        self._bytes_left = min(limits.bytes_burst, self._bytes_left + seconds * limits.bytes_per_second)

    def _spend(self, line_count: int, size_bytes: int) -> None:
        self._lines_left -= line_count
        self._bytes_left -= size_bytes
        self._shipped_bytes += size_bytes


def _prefix(block: bytes, lines_max: int, bytes_max: int) -> bytes:
    """Returns the first part of a block within both limits, cut at a line end; the whole block if it is within them."""
    if len(block) <= bytes_max and block.count(b'\n') <= lines_max:
        return block
    within = block[: max(0, bytes_max)]
    *lines, rest = within.split(b'\n', max(0, lines_max))
    if len(lines) < lines_max:
        return within[: len(within) - len(rest)]
    return within[: sum(len(line) + 1 for line in lines)]
