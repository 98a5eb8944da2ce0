"""The activity of the program's processes, from /proc: signs of life without a log line."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

PROC = Path('/proc')
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
    found = []
    for entry in os.listdir(PROC) if PROC.is_dir() else ():
        if entry.isdecimal():
            fields = _read_stat(int(entry))
            if fields is not None and int(fields[3]) == session:
                found.append(int(entry))
    return found


def has_open(pid: int, file: os.stat_result) -> bool:
    """Whether a process has the file open, which may have another path in a container. Raises OSError."""
    descriptors = PROC / str(pid) / 'fd'
    return any(os.path.samestat(os.stat(descriptors / name), file) for name in os.listdir(descriptors))


def measure_work(pids: List[int]) -> Work:
    cpu_ticks = io_bytes = 0
    for pid in pids:
        fields = _read_stat(pid)
        if fields is not None:
            # utime, stime, and those of children that have ended (proc(5)).
            cpu_ticks += sum(int(field) for field in fields[11:15])
        io_bytes += _read_io(pid)
    return Work(cpu_ticks / CLOCK_TICKS, io_bytes)


def is_active(before: Work, after: Work, seconds: float) -> bool:
    """Whether the processes did something in between."""
    if seconds <= 0:
        return False
    cpu_fraction = (after.cpu_seconds - before.cpu_seconds) / seconds
    return cpu_fraction >= CPU_FRACTION_MIN or (after.io_bytes - before.io_bytes) / seconds >= BYTES_PER_SECOND_MIN


def _read_stat(pid: int) -> Optional[List[str]]:
    """Returns the fields after the name, which may itself contain a parenthesis; None if the process has ended."""
    try:
        return (PROC / str(pid) / 'stat').read_text('utf-8', 'replace').rsplit(')', 1)[1].split()
    except (OSError, IndexError):
        return None


def _read_io(pid: int) -> int:
    try:
        counts = dict(line.split(': ') for line in (PROC / str(pid) / 'io').read_text().splitlines())
        return int(counts['rchar']) + int(counts['wchar'])
    except (OSError, ValueError, KeyError):
        return 0
