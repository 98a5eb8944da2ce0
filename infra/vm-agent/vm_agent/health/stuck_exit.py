"""
Processes of the program whose main thread an exception has ended, and which do not exit: another thread, a callback at
exit or a library waits, perhaps indefinitely. `paths/main_end.py` has written the exceptions.
"""

import math
import os
import signal
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Set, Tuple

from vm_agent.health.process_activity import Work, has_open, is_active, measure_work
from vm_agent.program.foreign_files import open_regular
from vm_agent.program.processes import ProcessStat, descends_from, read_table, send

# The process ends within two minutes if nothing was done after the exception.
IDLE_SECONDS = 90.0
# A shorter one would take the wake-up of a thread that only looks for work for work.
WINDOW_SECONDS = 10.0
KIND_BYTES_MAX = 1_000
# In which a launcher ends the other processes of its program.
EXPLAINS_SECONDS_MAX = 60.0


@dataclass
class _Window:
    idle_since: float
    begun_at: float
    work: Work


@dataclass(frozen=True)
class StuckProcess:
    pids: Tuple[int, ...]
    """More than one if it has forked since."""
    exception: str
    """The kind of the exception, `KeyError`; its text is in the log. Empty if it is not known."""


class StuckExits:
    """
    A process is stuck when it and its descendants have done nothing for IDLE_SECONDS, by process_activity.py, and the
    program has printed nothing and reported no metric: a thread that still trains or saves does one of these.
    """

    def __init__(self, seconds: Tuple[float, float] = (IDLE_SECONDS, WINDOW_SECONDS)) -> None:
        self._idle_seconds, self._window_seconds = seconds
        self._windows: Dict[Path, _Window] = {}
        self._ended: Set[Path] = set()
        """The files of processes that have ended, which are many if a program tries out commands that fail."""
        self._reported_at = self._ended_at = -math.inf
        self._exception = ''

    def add_report(self) -> None:
        """The program has printed or reported something."""
        self._reported_at = time.monotonic()

    @property
    def explanation(self) -> str:
        """The kind of the exception of a process that was ended just now; empty if none was."""
        return self._exception if time.monotonic() - self._ended_at <= EXPLAINS_SECONDS_MAX else ''

    def end(self, process: StuckProcess) -> None:
        self._exception, self._ended_at = process.exception, time.monotonic()
        for pid in process.pids:
            send(pid, signal.SIGKILL)

    def find(self, prefix: Path) -> List[StuckProcess]:
        """`prefix` is that of the files of exceptions."""
        found = []
        for path in sorted({*prefix.parent.glob(f'{prefix.name}.*')} - self._ended):
            table = read_table()
            pids = _list_holders(table, path)
            if not pids:
                self._ended.add(path)
                continue
            tree = [pid for pid in table if pid in pids or descends_from(table, pid, pids)]
            if self._is_stuck(path, tree):
                found.append(StuckProcess(pids, _read_kind(path)))
        return found

    def _is_stuck(self, path: Path, pids: List[int]) -> bool:
        now, work = time.monotonic(), measure_work(pids)
        window = self._windows.setdefault(path, _Window(now, now, work))
        if now - window.begun_at >= self._window_seconds:
            if is_active(window.work, work, now - window.begun_at):
                window.idle_since = now
            window.begun_at, window.work = now, work
        return now - max(window.idle_since, self._reported_at) >= self._idle_seconds


def _list_holders(table: Dict[int, ProcessStat], path: Path) -> Tuple[int, ...]:
    try:
        file = os.lstat(path)
    except OSError:
        return ()
    # A program in a container may write links, and the agent has files of the same folder open.
    if not stat.S_ISREG(file.st_mode):
        return ()
    return tuple(pid for pid in table if pid != os.getpid() and has_open(pid, file))


def _read_kind(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return ' '.join(file.read(KIND_BYTES_MAX).decode('utf-8', 'replace').split())
    except OSError:
        return ''
