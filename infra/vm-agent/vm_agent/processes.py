"""Finding and ending every process that the program started, also those that left its process group."""

import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Set

PROC = Path('/proc')
# linux/prctl.h: orphaned descendants become children of this process instead of init's, so that none gets away.
PR_SET_CHILD_SUBREAPER = 36
LEFTOVER_SECONDS_MAX = 5.0


@dataclass(frozen=True)
class Ancestry:
    parent: int
    session: int
    is_zombie: bool


def adopt_orphans() -> None:
    """Linux only; elsewhere the process group must do."""
    if sys.platform == 'linux':
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_leftovers(session: int, marker: bytes) -> int:
    """Ends whatever is left of the program with that session, and answers how many processes it had left."""
    killed: Set[int] = set()
    give_up_at = time.monotonic() + LEFTOVER_SECONDS_MAX
    while True:
        leftovers = _find_leftovers(session, marker)
        for pid in leftovers:
            _kill(pid)
        killed |= leftovers
        _reap(killed)
        if not leftovers or time.monotonic() > give_up_at:
            return len(killed)
        time.sleep(0.01)


def _find_leftovers(session: int, marker: bytes) -> Set[int]:
    table = _read_table()
    own = os.getpid()
    own_session = os.getsid(0)
    found = set()
    for pid, ancestry in table.items():
        if pid == own or ancestry.is_zombie:
            continue
        is_adopted = ancestry.session != own_session and _descends_from(table, pid, own)
        if ancestry.session == session or is_adopted or marker in _read_environment(pid):
            found.add(pid)
    return found


def _descends_from(table: Dict[int, Ancestry], pid: int, ancestor: int) -> bool:
    seen: Set[int] = set()
    while pid in table and pid not in seen:
        if table[pid].parent == ancestor:
            return True
        seen.add(pid)
        pid = table[pid].parent
    return False


def _read_table() -> Dict[int, Ancestry]:
    table = {}
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        if entry.name.isdecimal():
            try:
                # The name in parentheses may hold anything; proc(5) says to look for the last one.
                fields = (entry / 'stat').read_text('utf-8', 'replace').rsplit(')', 1)[1].split()
            except (OSError, IndexError):
                continue
            table[int(entry.name)] = Ancestry(int(fields[1]), int(fields[3]), fields[0] == 'Z')
    return table


def _read_environment(pid: int) -> bytes:
    try:
        return (PROC / str(pid) / 'environ').read_bytes()
    except OSError:
        return b''


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # Gone meanwhile, or not ours to end.
        return


def _reap(pids: Set[int]) -> None:
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
