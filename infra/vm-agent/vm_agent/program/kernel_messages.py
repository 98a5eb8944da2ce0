"""Messages of the kernel about the program and the GPUs."""

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
_PROGRAM = re.compile('Out of memory: Killed|oom-kill:|segfault at|trap invalid opcode|general protection')


def read_kernel_messages(since: float, pid: int, has_own_gpus: bool, path: str = KERNEL_LOG) -> Tuple[str, ...]:
    """
    Returns the last messages since `since`, by time.monotonic(), about the process `pid`, and about every GPU if all of
    them serve this job alone; none if the kernel's log cannot be read, which is the case without privileges.
    """
    found: List[str] = []
    own = re.compile(rf'(?<!\w){pid}(?!\w)')
    log = open_kernel_log(path)
    for at, message in read_new(log):
        is_of_gpu = _GPU.search(message) is not None
        is_own = (is_of_gpu or _PROGRAM.search(message)) and own.search(message)
        if at >= since - CLOCK_ERROR_SECONDS and (is_own or (is_of_gpu and has_own_gpus)):
            found.append(message[:LINE_CHARS_MAX])
    if log is not None:
        os.close(log)
    return tuple(found[-LINES_MAX:])


def open_kernel_log(path: str) -> Optional[int]:
    """Returns a descriptor before the oldest message, or None if the log cannot be read."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None


def read_new(log: Optional[int]) -> Iterator[Tuple[float, str]]:
    """Yields the seconds from the boot to each message that was not read yet, and the message. Does not wait."""
    for _ in range(RECORDS_MAX):
        data = None if log is None else _read(log)
        if data is None:
            return
        for match in map(_RECORD.match, data.decode('utf-8', 'replace').split('\n')):
            if match is not None:
                yield int(match.group(1)) / 1e6, f'kernel: {match.group(2)}'


def _read(log: int) -> Optional[bytes]:
    """Returns the next records, empty if some were overwritten; None at the end."""
    try:
        return os.read(log, READ_BYTES) or None
    except BrokenPipeError:
        return b''
    except OSError:
        # BlockingIOError at the end of the log; others where it cannot be read.
        return None
