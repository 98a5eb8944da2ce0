"""
Gives a program the time to save when SIGTERM would end the process that started it first: a shell, or a launcher
without a handler. With the first process, all others end. It is stopped, so that the signal waits for it.
"""

import math
import signal
import threading
import time
from typing import Callable, Sequence, Set

from vm_agent.program.processes import read_process, read_signals, read_table, send

POLL_SECONDS = 0.02
STOP_SECONDS_MAX = 2.0


def hold_parents(first: int, is_init: bool = False) -> None:
    """
    To be called before SIGTERM is sent to the process group of a program, whose first process is `first`, or the child
    of `first`, which `is_init` and passes signals on. Every parent in the group that the signal would end continues,
    and ends, when the processes that handle the signal have ended. Without /proc, and for processes of another user,
    nothing is held.
    """
    table = read_table()
    groups = {stat.group for pid, stat in table.items() if first == (stat.parent if is_init else pid)}
    members = {pid for pid, stat in table.items() if stat.group in groups and stat.state != 'Z'}
    handling = {pid for pid in members if _handles_term(pid)}
    held = [pid for pid in {table[pid].parent for pid in members} & members - handling if send(pid, signal.SIGSTOP)]
    if held:
        # If two signals wait, a process handles the one with the lower number first, which is SIGTERM.
        _await(lambda: all(_state_of(pid) in 'TtZ' for pid in held), STOP_SECONDS_MAX)
        threading.Thread(target=_release, args=(held, handling), name='held-parents', daemon=True).start()


def _release(held: Sequence[int], awaited: Set[int]) -> None:
    _await(lambda: all(_state_of(pid) == 'Z' for pid in awaited), math.inf)
    for pid in held:
        send(pid, signal.SIGCONT)


def _await(has_happened: Callable[[], bool], seconds_max: float) -> None:
    give_up_at = time.monotonic() + seconds_max
    while not has_happened() and time.monotonic() < give_up_at:
        time.sleep(POLL_SECONDS)


def _handles_term(pid: int) -> bool:
    """Whether the process catches or blocks SIGTERM, and not for the sake of a trap of its exit alone."""
    caught = read_signals(pid, 'SigCgt')
    # With a trap of EXIT, bash catches whatever would end it, and ends. Go catches SIGURG, too.
    if signal.SIGTERM in caught and signal.SIGSYS in caught and signal.SIGURG not in caught:
        return False
    return signal.SIGTERM in caught or signal.SIGTERM in read_signals(pid, 'SigBlk')


def _state_of(pid: int) -> str:
    """Returns the letter of ProcessStat; Z also for a process that has ended."""
    process = read_process(pid)
    return 'Z' if process is None else process.state
