"""
Runs in the program's interpreter before the program: writes to a file which kind of exception has ended the main
thread, when the interpreter begins to wait for the other threads. Its process keeps the file open until it ends, by
which the agent finds it, and ends it if it does nothing more.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

# The outermost frame of an exception that nothing has caught: in `python FILE` or `-c`, and in `-m`.
OUTERMOST = (('__main__', '<module>'), ('runpy', '_run_module_as_main'))


def register(prefix: str, after_import: Callable[[str, Callable[[Any], None]], None]) -> None:
    """
    `prefix` begins the paths of files. Replaces nothing that a program can see, and adds no frame to its errors. A
    program that never imports `threading` is not watched: the import would take 3 ms at every start of an interpreter.
    """

    class Callbacks(list):  # type: ignore[type-arg]
        """They are called in reverse order. Those of concurrent.futures wait for their threads, so ours comes first."""

        def __reversed__(self) -> Iterator[Any]:
            _record(prefix)
            return super().__reversed__()

    def patch(module: Any) -> None:
        module._threading_atexits = Callbacks(module._threading_atexits)

    if 'threading' in sys.modules:
        patch(sys.modules['threading'])
    else:
        after_import('threading', patch)


def _record(prefix: str) -> None:
    try:
        # The interpreter sets them before it calls sys.excepthook, whichever function that is. Other errors that it
        # prints begin in another frame.
        error, trace = getattr(sys, 'last_value', None), getattr(sys, 'last_traceback', None)
        frame = trace and (trace.tb_frame.f_globals.get('__name__'), trace.tb_frame.f_code.co_name)
        if not isinstance(error, Exception) or frame not in OUTERMOST:
            return
        # Its text may contain a secret of the job, which must be on no disk; the printed text is masked in the log.
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == 'builtins' else f'{kind.__module__}.{kind.__qualname__}'
        path = f'{prefix}.{os.getpid()}.{time.monotonic_ns()}'
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(descriptor, name.encode('utf-8', 'replace'))
    except Exception:
        return
