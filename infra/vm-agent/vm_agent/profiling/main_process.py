"""Which of the program's processes is the training: neither a shell, nor a launcher, nor a worker that reads data."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, List, Mapping, Optional, Sequence, Tuple

PROC = Path('/proc')
CLOCK_TICKS = os.sysconf('SC_CLK_TCK')
PROCESSES_MAX = 256
MAPS_BYTES_MAX = 1_048_576
COMMAND_BYTES_MAX = 4_096
# Ranks of one launcher work alike: the first of those that do is profiled.
SIMILAR_FRACTION_MIN = 0.5


@dataclass(frozen=True)
class ProcessFacts:
    pid: int
    parent: int
    cpu_seconds: float
    command: Tuple[str, ...]
    is_python: bool


def read_processes(pids: Iterable[int]) -> List[ProcessFacts]:
    """Returns those of the processes that have not ended."""
    found = []
    for pid in sorted(pids)[:PROCESSES_MAX]:
        folder = PROC / str(pid)
        try:
            parent, cpu_seconds = _read_stat(folder)
            command = (folder / 'cmdline').read_bytes()[:COMMAND_BYTES_MAX].decode('utf-8', 'replace').split('\0')
            found.append(ProcessFacts(pid, parent, cpu_seconds, tuple(command), _is_python(folder)))
        except (OSError, IndexError, ValueError):
            continue
    return found


def cpu_seconds_of(pid: int) -> float:
    """Returns 0 for a process that has ended."""
    return _cpu_seconds(PROC / str(pid))


def list_ids(pid: int) -> List[int]:
    """Returns the ids of a process: that of the machine, and that of its container."""
    try:
        lines = (PROC / str(pid) / 'status').read_text('utf-8', 'replace').splitlines()
        inner = [int(name) for line in lines if line.startswith('NSpid:') for name in line.split()[1:]]
    except (OSError, ValueError):
        inner = []
    return [pid, *inner]


def main_thread_seconds(pid: int) -> float:
    return _cpu_seconds(PROC / str(pid) / 'task' / str(pid))


def main_thread_delay(pid: int) -> float:
    """Returns the seconds for which the main thread could run and waited for a CPU; 0 if the kernel does not say."""
    try:
        # Nanoseconds on a CPU, and waiting for one (docs.kernel.org/scheduler/sched-stats.html).
        return int((PROC / str(pid) / 'task' / str(pid) / 'schedstat').read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def list_workers(pid: int) -> List[int]:
    """Returns the processes that multiprocessing started for a process; empty if the kernel does not list children."""
    try:
        children = (PROC / str(pid) / 'task' / str(pid) / 'children').read_text().split()
    except OSError:
        return []
    facts = read_processes([pid, *map(int, children[:PROCESSES_MAX])])
    parent = next((process for process in facts if process.pid == pid), None)
    if parent is None:
        return []
    return [child.pid for child in facts if child.is_python and child.parent == pid and is_worker(child, parent)]


def choose_main(before: Sequence[ProcessFacts], after: Sequence[ProcessFacts]) -> Optional[int]:
    """
    Returns the process that trains, by what all of them did in between; None if there is no Python process. Begins with
    the uppermost one, and goes on to a child that runs another program and works more: then the parent is a launcher,
    such as torchrun.
    """
    earlier = {process.pid: process.cpu_seconds for process in before}
    every = {process.pid: process for process in after}
    python = {pid: process for pid, process in every.items() if process.is_python}
    work = {pid: process.cpu_seconds - earlier.get(pid, 0.0) for pid, process in python.items()}
    parents = {pid: _python_parent(pid, every) for pid in python}

    def first_of(pids: Sequence[int]) -> int:
        most = max(work[pid] for pid in pids)
        return min(pid for pid in pids if work[pid] >= most * SIMILAR_FRACTION_MIN)

    roots = [pid for pid, parent in parents.items() if parent is None]
    if not roots:
        return None
    main = first_of(roots)
    while True:
        children = [python[pid] for pid, parent in parents.items() if parent == main]
        ranks = [child.pid for child in children if not is_worker(child, python[main]) and work[child.pid] > work[main]]
        if not ranks:
            return main
        main = first_of(ranks)


def _read_stat(folder: Path) -> Tuple[int, float]:
    """Returns the parent, and the CPU seconds of a process or thread."""
    # The name in parentheses may itself contain a parenthesis: the last one counts (proc(5)).
    fields = (folder / 'stat').read_text('utf-8', 'replace').rsplit(')', 1)[1].split()
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def _cpu_seconds(folder: Path) -> float:
    try:
        return _read_stat(folder)[1]
    except (OSError, IndexError, ValueError):
        return 0.0


def is_worker(child: ProcessFacts, parent: ProcessFacts) -> bool:
    """Whether multiprocessing started it: a fork has its parent's command line."""
    return child.command == parent.command or any('multiprocessing' in argument for argument in child.command)


def _python_parent(pid: int, every: Mapping[int, ProcessFacts]) -> Optional[int]:
    seen = {pid}
    parent = every[pid].parent
    while parent in every and parent not in seen:
        if every[parent].is_python:
            return parent
        seen.add(parent)
        parent = every[parent].parent
    return None


def _is_python(folder: Path) -> bool:
    name = os.path.basename(os.readlink(folder / 'exe'))
    if name.startswith(('python', 'pypy')):
        return True
    # A program that embeds the interpreter, or a link to it of another name.
    with open(folder / 'maps', 'rb') as maps:
        return b'libpython' in maps.read(MAPS_BYTES_MAX)
