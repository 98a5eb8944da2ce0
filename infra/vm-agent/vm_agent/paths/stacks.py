"""
Runs in the program's interpreter before the program: DUMP_SIGNAL makes faulthandler write the stacks of all threads to
a file, also while one of them holds the interpreter's lock. The agent sends it to a program that stalls.
"""

from __future__ import annotations

import faulthandler
import os
import signal

DUMP_SIGNAL = signal.SIGUSR2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register(path: str) -> None:
    """
    Registers the handler, unless the signal has one. A program that takes the signal for itself closes the file, by
    which the agent knows.
    """
    if signal.getsignal(DUMP_SIGNAL) != signal.SIG_DFL:
        return
    descriptors = [os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)]
    faulthandler.register(DUMP_SIGNAL, file=descriptors[0], all_threads=True, chain=False)
    real = signal.signal

    def set_handler(signalnum: Any, handler: Any) -> Any:
        if signalnum == DUMP_SIGNAL and descriptors:
            faulthandler.unregister(DUMP_SIGNAL)
            os.close(descriptors.pop())
        return real(signalnum, handler)

    set_handler.__name__, set_handler.__doc__ = real.__name__, real.__doc__
    signal.signal = set_handler
