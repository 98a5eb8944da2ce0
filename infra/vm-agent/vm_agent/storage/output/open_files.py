"""Which files of the output directory processes have open for writing, from /proc (proc_pid_fd(5))."""

import os
from pathlib import Path
from typing import Dict, Iterator, Tuple

from vm_agent.program.processes import PROC, list_descriptors, list_pids

# Formats of which every part from the start is valid, because each record or line is complete by itself.
LOG_MARKS = ('.csv', '.jsonl', '.log', '.tfevents.')


def is_log_name(name: str) -> bool:
    return any(mark in name for mark in LOG_MARKS)


def find_open_files(folder: Path) -> Dict[str, bool]:
    """
    Returns the files below the folder that a process has open for writing, by name, and whether all their writers only
    append. Processes of other users are not seen; on a platform without /proc, nothing is.
    """
    prefix = os.path.realpath(folder) + os.sep
    found: Dict[str, bool] = {}
    for pid in list_pids():
        if pid == os.getpid():
            continue
        for name, flags in _open_below(pid, prefix):
            if flags & os.O_ACCMODE != os.O_RDONLY:
                found[name] = found.get(name, True) and bool(flags & os.O_APPEND)
    return found


def _open_below(pid: int, prefix: str) -> Iterator[Tuple[str, int]]:
    """Yields the open files of a process below the prefix, with their flags."""
    for descriptor in list_descriptors(pid):
        try:
            target = os.readlink(descriptor)
            if target.startswith(prefix):
                yield target[len(prefix) :], _read_flags(PROC / str(pid) / 'fdinfo' / descriptor.name)
        except (OSError, ValueError):
            # Closed in the meantime.
            continue


def _read_flags(path: Path) -> int:
    """Raises OSError, or ValueError."""
    for line in path.read_text().splitlines():
        if line.startswith('flags:'):
            return int(line[len('flags:') :], 8)
    raise ValueError(f'{path} has no flags')
