"""
The stacks of a program that stalls: by py-spy if the machine or the program's environment has it, otherwise by the
signal handler that paths/stacks.py has registered in each Python process. A process that has taken the signal for
itself is not signaled: it no longer has the dump file open.
"""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from vm_agent.health.process_activity import has_open
from vm_agent.paths.stacks import DUMP_SIGNAL
from vm_agent.program.foreign_files import open_regular
from vm_agent.program.processes import read_signals

PY_SPY_SECONDS_MAX = 20.0
WAIT_SECONDS_MAX = 3.0
POLL_SECONDS = 0.1
PROCESSES_MAX = 8
DUMP_BYTES_MAX = 65_536
LINES_MAX = 200
EVIDENCE_FRAMES = 8
FRAME = re.compile(r'^\s+(?:File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>.+)|(?P<spy>\S.* \(.+:\d+\)))$')
THREAD = re.compile(r'^(?:Current thread|Thread) ')


def dump_stacks(pids: Sequence[int], dump_file: Path, python: Path) -> Tuple[str, ...]:
    """Returns the lines of the dump, the program's first process first; empty if there is no way to get one."""
    return _dump_with_py_spy(pids, python) or _dump_with_signal(pids, dump_file)


def summarize(lines: Sequence[str]) -> Tuple[str, ...]:
    """Returns the innermost frames of the main thread, which both tools print last, of the first process."""
    blocks: List[List[str]] = []
    for line in lines:
        if THREAD.match(line):
            blocks.append([line.strip()])
        elif blocks and FRAME.match(line):
            blocks[-1].append(line.strip())
    named = [block for block in blocks if 'MainThread' in block[0]] or [block for block in blocks if len(block) > 1][-1:]
    return tuple(named[0][: 1 + EVIDENCE_FRAMES]) if named else tuple(line.strip() for line in lines[:EVIDENCE_FRAMES])


def shorten_frame(frame: str) -> str:
    """Returns a frame of `summarize` as a sentence names it: `trainer/task.py, line 5, in wait`."""
    match = FRAME.match(f' {frame}')
    if match is None or match['file'] is None:
        return frame
    return f'{"/".join(Path(match["file"]).parts[-2:])}, line {match["line"]}, in {match["name"]}'


def find_py_spy(python: Path) -> Optional[str]:
    """Returns the command of the program's environment, or of the machine; None if there is none."""
    beside = python.parent / 'py-spy'
    return str(beside) if beside.is_file() else shutil.which('py-spy')


def _dump_with_py_spy(pids: Sequence[int], python: Path) -> Tuple[str, ...]:
    tool = find_py_spy(python)
    if tool is None:
        return ()
    for pid in pids[:PROCESSES_MAX]:
        try:
            dumped = subprocess.run(
                [tool, 'dump', '--pid', str(pid)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=PY_SPY_SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ()
        if dumped.returncode == 0 and dumped.stdout:
            return tuple(dumped.stdout[:DUMP_BYTES_MAX].decode('utf-8', 'replace').splitlines()[:LINES_MAX])
    # Tracing is not allowed, or it is no Python process.
    return ()


def _dump_with_signal(pids: Sequence[int], dump_file: Path) -> Tuple[str, ...]:
    targets = [pid for pid in pids if handles_dump(pid, dump_file)][:PROCESSES_MAX]
    lines: List[str] = []
    for pid in targets:
        offset = _size_of(dump_file)
        try:
            os.kill(pid, DUMP_SIGNAL)
        except (ProcessLookupError, PermissionError):
            continue
        lines += _read_new(dump_file, offset)
    return tuple(lines[:LINES_MAX])


def handles_dump(pid: int, dump_file: Path) -> bool:
    """Whether the process catches the signal, and still has the file open that its handler writes to."""
    try:
        return DUMP_SIGNAL in read_signals(pid, 'SigCgt') and has_open(pid, os.stat(dump_file))
    except OSError:
        return False


def _read_new(dump_file: Path, offset: int) -> List[str]:
    """Waits until the dump is complete: it has begun, and no longer grows."""
    give_up_at = time.monotonic() + WAIT_SECONDS_MAX
    size = offset
    while time.monotonic() < give_up_at:
        time.sleep(POLL_SECONDS)
        now = _size_of(dump_file)
        if now > offset and now == size:
            break
        size = now
    try:
        with open_regular(dump_file) as file:
            file.seek(offset)
            return file.read(DUMP_BYTES_MAX).decode('utf-8', 'replace').splitlines()
    except OSError:
        return []


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


