"""
Reads a process's pipes as fast as it writes: one thread per pipe only reads and queues, another one masks and forwards.

Nothing here costs time per line, and the queue absorbs bursts, so that the process does not wait for its log.
"""

import fcntl
import os
import threading
import time
from collections import deque
from typing import IO, Callable, Deque, Dict, List, Optional, Tuple

from vm_agent.logs.mask import Mask
from vm_agent.logs.output_lines import BlockSplitter

QUEUE_BYTES_MAX = 33_554_432
BLOCK_BYTES_MAX = 1_048_576
# Linux allows this much to every user (fs.pipe-max-size in man 7 pipe); other systems keep their size.
PIPE_BYTES = 1_048_576
PIPE_BYTES_DEFAULT = 65_536
# fcntl.F_SETPIPE_SZ, which Python names from 3.10 on.
SET_PIPE_SIZE = 1031
# Between reads of a slow writer: without it, each line wakes the agent, which slows the program by more than a third.
PAUSE_SECONDS = 0.005

Forward = Callable[[str, bytes], None]


class OutputPump:
    """`forward(stream, block)` receives masked blocks of whole lines, from one thread."""

    def __init__(self, mask: Mask, forward: Forward) -> None:
        self._mask = mask
        self._forward = forward
        self._queue: Deque[Tuple[str, bytes]] = deque()
        self._queued_bytes = 0
        self._is_finished = False
        self._changed = threading.Condition()
        self._readers: List[threading.Thread] = []
        self._writer = threading.Thread(target=self._run, name='output-pump', daemon=True)
        self._writer.start()

    def add(self, stream: str, pipe: Optional[IO[bytes]]) -> None:
        """Starts reading a pipe, which is closed at its end."""
        assert pipe is not None
        reader = threading.Thread(target=self._read, args=(stream, pipe), name=f'output-{stream}', daemon=True)
        self._readers.append(reader)
        reader.start()

    def finish(self, pipe_seconds_max: float) -> None:
        """
        Returns when all output is forwarded. A pipe that a process keeps open is abandoned after `pipe_seconds_max`.
        """
        for reader in self._readers:
            reader.join(pipe_seconds_max)
        with self._changed:
            self._is_finished = True
            self._changed.notify_all()
        self._writer.join()

    def _read(self, stream: str, pipe: IO[bytes]) -> None:
        with pipe:
            capacity = _enlarge(pipe.fileno())
            while data := os.read(pipe.fileno(), capacity):
                self._put(stream, data)
                if len(data) < capacity // 4:
                    time.sleep(PAUSE_SECONDS)

    def _put(self, stream: str, data: bytes) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._queued_bytes < QUEUE_BYTES_MAX or self._is_finished)
            self._queue.append((stream, data))
            self._queued_bytes += len(data)
            self._changed.notify_all()

    def _run(self) -> None:
        splitters: Dict[str, BlockSplitter] = {}
        while (taken := self._take()) is not None:
            stream, data = taken
            splitter = splitters.setdefault(stream, BlockSplitter(self._mask))
            self._forward_block(stream, splitter.feed(data))
        for stream, splitter in splitters.items():
            self._forward_block(stream, splitter.finish())

    def _forward_block(self, stream: str, block: bytes) -> None:
        if block:
            self._forward(stream, block)

    def _take(self) -> Optional[Tuple[str, bytes]]:
        """Removes the oldest output of one stream, up to BLOCK_BYTES_MAX; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._queue) > 0 or self._is_finished)
            if not self._queue:
                return None
            stream, data = self._queue.popleft()
            chunks, size_bytes = [data], len(data)
            while self._queue and self._queue[0][0] == stream and size_bytes < BLOCK_BYTES_MAX:
                chunks.append(self._queue.popleft()[1])
                size_bytes += len(chunks[-1])
            self._queued_bytes -= size_bytes
            self._changed.notify_all()
        return stream, b''.join(chunks)


def _enlarge(pipe: int) -> int:
    """Enlarges a pipe, so that its writer waits less often. Returns its size in bytes, or the default if unknown."""
    try:
        return fcntl.fcntl(pipe, SET_PIPE_SIZE, PIPE_BYTES)
    except OSError:
        # Another system, or the user's pipes have reached fs.pipe-user-pages-soft.
        return PIPE_BYTES_DEFAULT
