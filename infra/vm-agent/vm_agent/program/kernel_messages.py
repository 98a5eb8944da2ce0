"""Messages of the kernel about the program and the GPUs, for the evidence of a failure."""

import os
import re
from typing import Iterator, List, Optional, Tuple

# Linux, Documentation/ABI/testing/dev-kmsg: one record a read, `priority,sequence,microseconds,flags;message`.
KERNEL_LOG = '/dev/kmsg'
READ_BYTES = 8_192
RECORDS_MAX = 20_000
LINES_MAX = 4
LINE_CHARS_MAX = 400
# The kernel's clock may differ from the monotonic one by this much.
CLOCK_ERROR_SECONDS = 2.0
_RECORD = re.compile(r'\d+,\d+,(\d+),[^;]*;(.*)')
_GPU = re.compile(r'NVRM: Xid|NVRM: GPU .{0,40}fallen off the bus')
# These Xids follow from a program (NVIDIA, "XID Errors"); on one machine, it may be that of another VM.
_PROGRAM = re.compile(
    r'NVRM: Xid \([^)]{0,40}\): (?:13|31|43|45),|Out of memory: Killed|oom-kill:|segfault at|trap invalid opcode|'
    'general protection'
)


def read_kernel_messages(since: float, pid: int, path: str = KERNEL_LOG) -> Tuple[str, ...]:
    """
    Returns the last messages since `since`, by time.monotonic(), about GPUs or the process `pid`; none if the kernel's
    log cannot be read, which is the case without privileges.
    """
    found: List[str] = []
    own = re.compile(rf'(?<!\w){pid}(?!\w)')
    for record in _records(path):
        match = _RECORD.match(record)
        if match is None or int(match.group(1)) / 1e6 < since - CLOCK_ERROR_SECONDS:
            continue
        message = match.group(2)
        if own.search(message) if _PROGRAM.search(message) else _GPU.search(message):
            found.append(f'kernel: {message[:LINE_CHARS_MAX]}')
    return tuple(found[-LINES_MAX:])


def _records(path: str) -> Iterator[str]:
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        for _ in range(RECORDS_MAX):
            data = _read(log)
            if data is None:
                return
            yield from data.decode('utf-8', 'replace').split('\n')
    finally:
        os.close(log)


def _read(log: int) -> Optional[bytes]:
    """Returns the next records, empty if some were overwritten; None at the end."""
    try:
        return os.read(log, READ_BYTES) or None
    except BrokenPipeError:
        return b''
    except OSError:
        # BlockingIOError at the end of the log; others where it cannot be read.
        return None
