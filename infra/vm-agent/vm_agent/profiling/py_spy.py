"""Recording the stacks of a process with py-spy, which reads its memory and does not stop it."""

import json
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Optional

from vm_agent.profiling.main_process import list_ids
from vm_agent.profiling.speedscope import merge

RATE_MAX = 100
# In a thread, of all seconds together; it bounds the size of the file.
SAMPLES_MAX = 3_000
FILE_BYTES_MAX = 16_777_216
# After the recording, to write the file.
END_SECONDS_MAX = 30.0
POLL_SECONDS = 0.5
NICENESS = 5
LOG_BYTES_MAX = 4_096


class ProfileFailed(Exception):
    """Its text is for users: what happened, and what to do next."""


@dataclass(frozen=True)
class Recording:
    process: 'subprocess.Popen[bytes]'
    file: Path
    log: Path


def find_py_spy(python: Path) -> Optional[str]:
    """Returns the command of the program's environment, or of the machine; None if there is none."""
    beside = python.parent / 'py-spy'
    return str(beside) if beside.is_file() else shutil.which('py-spy')


def sampling_rate(seconds: int) -> int:
    """Returns the samples per second."""
    return max(1, min(RATE_MAX, SAMPLES_MAX // seconds))


def record(tool: str, pid: int, seconds: int, folder: Path, on_poll: Callable[[], None]) -> Dict[str, Any]:
    """
    Returns a speedscope file with the stacks of all threads, also of those that wait, and with those of the main thread
    while it holds the interpreter's lock. Calls `on_poll` meanwhile. Raises ProfileFailed.
    """
    main_ids = list_ids(pid)
    recordings = []
    try:
        for option in ('--idle', '--gil'):
            recordings.append(_start(tool, pid, seconds, folder / option.strip('-'), option))
        give_up_at = time.monotonic() + seconds + END_SECONDS_MAX
        while any(recording.process.poll() is None for recording in recordings):
            if time.monotonic() > give_up_at:
                raise ProfileFailed(f'py-spy had not ended {END_SECONDS_MAX:g} s after the recording. Try again later.')
            time.sleep(POLL_SECONDS)
            on_poll()
        every, holding = recordings
        if every.process.returncode != 0:
            raise ProfileFailed(_explain(every))
        # Without the second one the verdict is less certain.
        return merge(_read(every), _read(holding) if holding.process.returncode == 0 else None, main_ids)
    finally:
        for recording in recordings:
            if recording.process.poll() is None:
                recording.process.kill()
            recording.process.wait()


def _start(tool: str, pid: int, seconds: int, file: Path, option: str) -> Recording:
    nice = [shutil.which('nice') or '/usr/bin/nice', '-n', str(NICENESS)]
    format_options = ['--format', 'speedscope', '--output', str(file), '--nonblocking', option]
    argv = [*nice, tool, 'record', '--pid', str(pid), '--duration', str(seconds), '--rate', str(sampling_rate(seconds))]
    log = file.with_suffix('.log')
    with open(log, 'wb') as errors:
        try:
            process = subprocess.Popen(
                [*argv, *format_options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
            )
        except OSError as error:
            raise ProfileFailed(f'py-spy could not be started: {error}.') from error
    try:
        # Absent on macOS.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    except (AttributeError, OSError, ValueError):
        pass
    return Recording(process, file, log)


def _read(recording: Recording) -> Dict[str, Any]:
    try:
        if recording.file.stat().st_size > FILE_BYTES_MAX:
            raise ProfileFailed(TOO_LARGE)
        return dict(json.loads(recording.file.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise ProfileFailed(f'py-spy wrote no profile: {error}.') from error


TOO_LARGE = f'The profile is larger than {FILE_BYTES_MAX} bytes. Profile fewer seconds.'


def _explain(recording: Recording) -> str:
    """Returns what a failure of py-spy means."""
    with open(recording.log, 'rb') as log:
        text = log.read(LOG_BYTES_MAX).decode('utf-8', 'replace').strip()
    lower = text.lower()
    if 'file size limit' in lower or 'file too large' in lower or recording.process.returncode < 0:
        return TOO_LARGE
    if 'permission denied' in lower or 'operation not permitted' in lower:
        return (
            "The machine does not allow reading the program's memory. On your own machine, run "
            '`sudo sysctl kernel.yama.ptrace_scope=0`, or start the embedded cloud as root.'
        )
    if 'process is running' in lower or 'no such process' in lower:
        return 'The program ended before it could be profiled.'
    if 'python version' in lower:
        return 'py-spy does not know the Python of the program. Use a newer release of py-spy.'
    first = next((line.strip() for line in text.splitlines() if line.strip()), 'it gave no reason')
    return f'py-spy failed: {first[:300]}'
