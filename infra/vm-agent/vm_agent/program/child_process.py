"""A child process in its own session: its output is read while it runs, and its descendants are killed after it."""

import os
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Mapping, Optional, Sequence

from vm_agent.logs.mask import Mask
from vm_agent.logs.output_pump import Forward, OutputPump
from vm_agent.program.held_parents import hold_parents
from vm_agent.program.memory import count_memory_kills
from vm_agent.program.processes import kill_remaining

# The pipes end with the last process; the limit is for a process that could not be found and killed.
PIPE_SECONDS_MAX = 2.0


@dataclass(frozen=True)
class Command:
    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    marker: bytes
    """`NAME=value` of the environment that identifies every process of this VM."""
    mask: Mask = field(default_factory=Mask)
    """Applied to its output."""


class ChildProcess:
    """
    Starts at construction. `on_output(stream, block)`, with masked blocks of whole lines, and `on_exit()` are called
    from other threads.
    """

    def __init__(self, command: Command, on_output: Forward, on_exit: Callable[[], None]) -> None:
        self._marker = command.marker
        self._kills_before = count_memory_kills()
        self._process = subprocess.Popen(
            command.argv,
            env=dict(command.environment),
            cwd=command.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._exited = threading.Event()
        self._output = OutputPump(command.mask, on_output)
        self._output.add('stdout', self._process.stdout)
        self._output.add('stderr', self._process.stderr)
        threading.Thread(target=self._wait, args=(on_exit,), name='child-wait', daemon=True).start()

    @property
    def pid(self) -> int:
        """The leader of the session."""
        return self._process.pid

    @property
    def return_code(self) -> Optional[int]:
        """The exit code as in subprocess: negative for a signal; None while it runs."""
        return self._process.returncode if self._exited.is_set() else None

    def was_out_of_memory(self) -> bool:
        """Whether the kernel has killed a process of the agent's control group, or of the machine, since the start."""
        return count_memory_kills() > self._kills_before

    def send_signal(self, number: signal.Signals) -> None:
        """Signals the whole process group, in which no parent ends by SIGTERM before a process that saves."""
        if number == signal.SIGTERM:
            hold_parents(self._process.pid)
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            # All have ended; macOS raises PermissionError for a group of zombies.
            return

    def clean_up(self) -> int:
        """Kills the remaining descendants, and reads the rest of the output; returns how many there were."""
        self.send_signal(signal.SIGKILL)
        count = kill_remaining(self._process.pid, self._marker)
        self._output.finish(PIPE_SECONDS_MAX)
        return count

    def _wait(self, on_exit: Callable[[], None]) -> None:
        self._process.wait()
        self._exited.set()
        on_exit()
