"""Finding and killing every process that the program started, including those that left its process group."""

import ctypes
import os
import re
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Container, Dict, List, Optional, Set

PROC = Path('/proc')
MARKER_PATTERN = re.compile(rb'[A-Z_]+=.+', re.DOTALL)
# linux/prctl.h: orphaned descendants become children of this process instead of init's.
PR_SET_CHILD_SUBREAPER = 36
KILL_SECONDS_MAX = 5.0


@dataclass(frozen=True)
class ProcessStat:
    parent: int
    group: int
    session: int
    state: str
    """A letter of proc(5): Z for a zombie, T for a stopped process."""
    cpu_ticks: int
    """Used by the process, and by its children that have ended."""


def become_subreaper() -> None:
    """Makes orphaned descendants children of this process. Linux only; elsewhere, only the process group is killed."""
    if sys.platform == 'linux':
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_remaining(session: int, marker: bytes) -> int:
    """
    Kills the processes of the session, those with the variable `marker`, and adopted descendants; returns how many
    there were. Gives up after KILL_SECONDS_MAX. Raises ValueError for a marker that is not `NAME=value`: an empty
    one is part of every environment, and would kill every process of the machine.
    """
    if not MARKER_PATTERN.fullmatch(marker):
        raise ValueError(f'{marker!r} is not a marker of the form NAME=value.')
    killed: Set[int] = set()
    give_up_at = time.monotonic() + KILL_SECONDS_MAX
    while True:
        remaining = find_processes(session, marker)
        for pid in remaining:
            send(pid, signal.SIGKILL)
        killed |= remaining
        _reap(killed)
        if not remaining or time.monotonic() > give_up_at:
            return len(killed)
        time.sleep(0.01)


def find_processes(session: int, marker: bytes) -> Set[int]:
    """Returns the processes of a session, those with the variable `marker`, and adopted descendants."""
    table = read_table()
    own = os.getpid()
    own_session = os.getsid(0)
    found = set()
    for pid, process in table.items():
        if pid == own or process.state == 'Z':
            continue
        is_adopted = process.session != own_session and descends_from(table, pid, {own})
        if process.session == session or is_adopted or marker in _read_environment(pid):
            found.add(pid)
    return found


def descends_from(table: Dict[int, ProcessStat], pid: int, ancestors: Container[int]) -> bool:
    seen: Set[int] = set()
    while pid in table and pid not in seen:
        if table[pid].parent in ancestors:
            return True
        seen.add(pid)
        pid = table[pid].parent
    return False


def list_pids() -> List[int]:
    """Returns all processes of the machine; none without /proc."""
    return [int(name) for name in os.listdir(PROC) if name.isdecimal()] if PROC.is_dir() else []


def list_descriptors(pid: int) -> List[Path]:
    """Returns the links to the open files of a process; none if it has ended, or belongs to another user."""
    folder = PROC / str(pid) / 'fd'
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def read_table() -> Dict[int, ProcessStat]:
    """Returns all processes of the machine; none without /proc."""
    found = ((pid, read_process(pid)) for pid in list_pids())
    return {pid: process for pid, process in found if process is not None}


def read_process(pid: int) -> Optional[ProcessStat]:
    """Returns None if the process has ended, and is no zombie."""
    try:
        # The name in parentheses may itself contain a parenthesis: the last one counts (proc(5)).
        fields = (PROC / str(pid) / 'stat').read_text('utf-8', 'replace').rsplit(')', 1)[1].split()
    except (OSError, IndexError):
        return None
    return ProcessStat(int(fields[1]), int(fields[2]), int(fields[3]), fields[0], sum(map(int, fields[11:15])))


def read_signals(pid: int, mask: str) -> Set[int]:
    """Returns the signals in a mask of proc(5): `SigCgt` has those that are caught. Empty if it cannot be read."""
    try:
        status = (PROC / str(pid) / 'status').read_text('utf-8', 'replace')
    except OSError:
        return set()
    found = re.search(rf'^{mask}:\s*([0-9a-f]+)', status, re.MULTILINE)
    bits = int(found[1], 16) if found else 0
    return {number for number in range(1, bits.bit_length() + 1) if bits >> (number - 1) & 1}


def _read_environment(pid: int) -> List[bytes]:
    try:
        return (PROC / str(pid) / 'environ').read_bytes().split(b'\0')
    except OSError:
        return []


def send(pid: int, number: signal.Signals) -> bool:
    """Returns whether the process was signaled: it may have ended, or belong to another user."""
    try:
        os.kill(pid, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False


def _reap(pids: Set[int]) -> None:
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
