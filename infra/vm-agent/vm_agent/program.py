"""A child process in a session of its own, whose output is read while it runs and of which nothing survives."""

import os
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Callable, Mapping, Optional, Sequence

from vm_agent.line_splitter import LineSplitter
from vm_agent.mask import Mask
from vm_agent.processes import kill_leftovers

READ_BYTES = 65_536
# After the last process is dead its pipes end at once; the bound is for what escaped every search.
PIPE_SECONDS_MAX = 2.0


@dataclass(frozen=True)
class Command:
    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    marker: bytes
    """`NAME=value` of the environment, by which every process of this VM is known."""
    mask: Mask = field(default_factory=Mask)
    """What no line of its output shows."""


class Program:
    """Starts at once. `on_line(stream, line)` is called from reading threads, `on_end()` from a waiting one."""

    def __init__(self, command: Command, on_line: Callable[[str, str], None], on_end: Callable[[], None]) -> None:
        self._marker = command.marker
        self._mask = command.mask
        self._on_line = on_line
        self._process = subprocess.Popen(
            command.argv,
            env=dict(command.environment),
            cwd=command.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._ended = threading.Event()
        self._readers = [
            self._start_reader('stdout', self._process.stdout),
            self._start_reader('stderr', self._process.stderr),
        ]
        threading.Thread(target=self._wait, args=(on_end,), name='program-wait', daemon=True).start()

    @property
    def return_code(self) -> Optional[int]:
        """As in subprocess, negative for a signal; None while it runs."""
        return self._process.returncode if self._ended.is_set() else None

    def send_signal(self, number: signal.Signals) -> None:
        """To the whole process group."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            # Everything ended meanwhile; macOS answers PermissionError for a group of zombies.
            return

    def clear(self) -> int:
        """After the end: kills what the program left behind and reads out its pipes. Answers how many were left."""
        self.send_signal(signal.SIGKILL)
        count = kill_leftovers(self._process.pid, self._marker)
        for reader in self._readers:
            reader.join(PIPE_SECONDS_MAX)
        return count

    def _start_reader(self, stream: str, pipe: Optional[IO[bytes]]) -> threading.Thread:
        assert pipe is not None
        thread = threading.Thread(target=self._read, args=(stream, pipe), name=f'program-{stream}', daemon=True)
        thread.start()
        return thread

    def _read(self, stream: str, pipe: IO[bytes]) -> None:
        splitter = LineSplitter(self._mask)
        with pipe:
            while data := os.read(pipe.fileno(), READ_BYTES):
                for line in splitter.feed(data):
                    self._on_line(stream, line)
        for line in splitter.finish():
            self._on_line(stream, line)

    def _wait(self, on_end: Callable[[], None]) -> None:
        self._process.wait()
        self._ended.set()
        on_end()
