"""The activity of the program's processes, from /proc: signs of life without a log line."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import List

from vm_agent.program.processes import PROC, list_descriptors, read_process, read_table

# Idle threads that wake up to look for work need less.
CPU_FRACTION_MIN = 0.03
# Reads and writes, of files and pipes. Heartbeats of a program to others need less.
BYTES_PER_SECOND_MIN = 65_536.0
CLOCK_TICKS = os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Work:
    """Since the processes started."""

    cpu_seconds: float
    io_bytes: int


def list_session(session: int) -> List[int]:
    """Returns the processes of a session; empty on a system without /proc."""
    return [pid for pid, process in read_table().items() if process.session == session]


def has_open(pid: int, file: os.stat_result) -> bool:
    """
    Whether a process has the file open, which may have another path in a container. False if it has ended, or belongs
    to another user.
    """
    return any(_is_same(descriptor, file) for descriptor in list_descriptors(pid))


def measure_work(pids: List[int]) -> Work:
    cpu_ticks = io_bytes = 0
    for pid in pids:
        process = read_process(pid)
        cpu_ticks += 0 if process is None else process.cpu_ticks
        io_bytes += _read_io(pid)
    return Work(cpu_ticks / CLOCK_TICKS, io_bytes)


def is_active(before: Work, after: Work, seconds: float) -> bool:
    """Whether the processes did something in between."""
    if seconds <= 0:
        return False
    cpu_fraction = (after.cpu_seconds - before.cpu_seconds) / seconds
    return cpu_fraction >= CPU_FRACTION_MIN or (after.io_bytes - before.io_bytes) / seconds >= BYTES_PER_SECOND_MIN


def _is_same(descriptor: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(descriptor), file)
    except OSError:
        # Closed in the meantime.
        return False


def _read_io(pid: int) -> int:
    try:
        counts = dict(line.split(': ') for line in (PROC / str(pid) / 'io').read_text().splitlines())
        return int(counts['rchar']) + int(counts['wchar'])
    except (OSError, ValueError, KeyError):
        return 0
