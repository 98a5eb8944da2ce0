"""The agent's decisions as pure functions, apart from the code that acts on them."""

import re
import signal
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple

from vm_agent.control.config import Limits
from vm_agent.health.stuck_exit import IDLE_SECONDS
from vm_agent.program.evidence import clean_evidence, clean_line
from vm_agent.program.exit_report import EVIDENCE_LINES_MAX, LINE_CHARS_MAX, DecisiveFinding, ExitReport, shorten
from vm_agent.program.gpu_faults import describe_fault
from vm_agent.program.saved_uris import find_saved_uris

# The length of a line of evidence: at most 20 lines are before the tail, which has the rest of what a heartbeat and a
# cause may have.
ROOT_LINE_CHARS_MAX = 400
TAIL_BYTES_MAX = 20_480
KILLED = re.compile(r'\bKilled\b|SIGKILL|[Ss]ignal:? 9\b|exit ?code\W{1,20}(?:-9|137)\b', re.IGNORECASE)


@dataclass(frozen=True)
class StopNotice:
    """Why the program must stop before it ends by itself."""

    reason: str
    """Becomes the exit report's reason."""
    message: str
    seconds_left: Optional[float] = None
    """Until the VM is shut down; None if that is unknown."""
    is_interruption: bool = False
    """Whether Compute Engine ends the VM: heartbeats report it before the output is saved."""
    is_early_stop: bool = False
    """Whether the job goes on to succeed: its output is saved as after a program that ended by itself."""
    health: Optional[DecisiveFinding] = None
    """With the reason UNHEALTHY."""
    evidence: Tuple[str, ...] = ()
    """In place of the program's last lines."""


@dataclass(frozen=True)
class Readings:
    """The values that the supervisor measures at one moment."""

    unanswered_seconds: float
    """Since the control plane's last answer."""
    running_seconds: Optional[float]
    """The running time of the program; None for the agent's own tools."""
    disk_bytes: int


@dataclass(frozen=True)
class ProgramEnd:
    """How a child process ended, and its last output."""

    return_code: int
    """Negative for a signal, as in subprocess."""
    notice: Optional[StopNotice]
    """Why it was stopped; None if it ended by itself."""
    stderr: Sequence[str]
    stdout: Sequence[str]
    was_out_of_memory: bool
    stderr_errors: Sequence[str] = ()
    """Lines of the whole stream that look like an error, the first and the last ones."""
    stdout_errors: Sequence[str] = ()
    kernel: Sequence[str] = ()
    """The messages of the kernel about the program and the GPUs."""
    gpu_faults: Sequence[str] = ()
    """Faults of the hardware, which explain a failure whatever it looks like."""
    exception: str = ''
    """The kind that ended the main thread of a process which then did not exit, and was ended; empty if none was."""


def check_limits(limits: Limits, readings: Readings) -> Optional[StopNotice]:
    """Returns the reason to stop if a limit is exceeded, or None."""
    if readings.disk_bytes > limits.disk_bytes_max:
        return StopNotice(
            'DISK_FULL',
            f'{readings.disk_bytes} bytes are on the work disk; the limit is {limits.disk_bytes_max}. '
            f'{limits.disk_remedy}',
        )
    if readings.running_seconds is not None and readings.running_seconds > limits.max_running_seconds:
        return StopNotice(
            'MAX_RUNNING_TIME', f'The program reached its maximum running time of {limits.max_running_seconds:g} s.'
        )
    if readings.unanswered_seconds > limits.control_plane_timeout_seconds:
        return StopNotice(
            'STOPPED', f'The control plane was unreachable for {limits.control_plane_timeout_seconds:g} s.'
        )
    return None


def grace_seconds(notice: StopNotice, limits: Limits) -> float:
    """
    Returns the time between SIGTERM and SIGKILL: what the notice leaves, less the time of the final save or, if the
    notice is short, half of it.
    """
    if notice.seconds_left is None:
        return limits.stop_grace_seconds
    return max(notice.seconds_left - limits.final_save_seconds, notice.seconds_left / 2)


def describe_stuck(exception: str) -> str:
    """Returns why a process of the program was ended, from the kind of the exception, if it is known."""
    return (
        f'The main thread of the program ended with {exception or "an exception"}. The process did '
        f'not exit, and was ended after it had done nothing for {IDLE_SECONDS:g} s.'
    )


def describe_end(end: ProgramEnd) -> ExitReport:
    """
    Returns the exit report of the program. Its evidence is the end of stderr, or of stdout if stderr is blank, after
    the earlier lines of both that look like an error, and those of the kernel.
    """
    if end.exception and end.notice is None:
        end = _as_if_exited(end)
    notice = StopNotice('GPU_FAILED', describe_fault(end.gpu_faults[0])) if end.gpu_faults else end.notice
    reason, message = _classify_end(replace(end, notice=notice))
    return ExitReport(
        reason,
        message,
        exit_code=end.return_code if end.return_code >= 0 else None,
        signal=-end.return_code if end.return_code < 0 else None,
        evidence=notice.evidence if notice is not None and notice.evidence else _evidence(end),
        health=None if notice is None else notice.health,
        saved_uris=find_saved_uris((*end.stdout, *end.stderr)),
    )


def _classify_end(end: ProgramEnd) -> Tuple[str, str]:
    if end.notice is not None:
        return end.notice.reason, end.notice.message
    if end.exception:
        return 'EXITED', describe_stuck(end.exception)
    if end.return_code == -signal.SIGKILL and end.was_out_of_memory:
        return 'OUT_OF_MEMORY', 'The kernel killed the program because the VM ran out of memory.'
    if end.return_code < 0:
        return 'EXITED', f'The program was terminated by {_signal_name(-end.return_code)}.'
    return 'EXITED', f'The program ended with exit code {end.return_code}.'


def _as_if_exited(end: ProgramEnd) -> ProgramEnd:
    """Python exits with code 1 after an exception. What launchers and shells print about SIGKILL would mislead."""
    stderr = [line for line in end.stderr if not KILLED.search(line)]
    errors = [line for line in end.stderr_errors if not KILLED.search(line)]
    is_printed = any(line.startswith(end.exception) for line in (*stderr, *errors))
    return replace(end, return_code=1, stderr=stderr, stderr_errors=errors if is_printed else [end.exception, *errors])


def _evidence(end: ProgramEnd) -> Tuple[str, ...]:
    tail = _tail(end)
    has_stderr = any(line.strip() for line in end.stderr)
    earlier = [*end.gpu_faults, *end.kernel, *(end.stdout_errors if has_stderr else ()), *end.stderr_errors]
    earlier = [clean_line(line) for line in (*earlier, *(() if has_stderr else end.stdout_errors))]
    known = set(tail)
    root = [shorten(line, ROOT_LINE_CHARS_MAX) for line in dict.fromkeys(earlier) if line.strip() and line not in known]
    if not root:
        return tail
    # The tail leaves room for them: a report keeps the end of its evidence.
    kept: List[str] = []
    bytes_left = TAIL_BYTES_MAX
    for line in reversed(tail[-(EVIDENCE_LINES_MAX - len(root)) :]):
        bytes_left -= min(len(line.encode('utf-8', 'replace')), LINE_CHARS_MAX)
        if bytes_left < 0:
            break
        kept.append(line)
    return (*root, *reversed(kept))


def _tail(end: ProgramEnd) -> Tuple[str, ...]:
    return tuple((clean_evidence(end.stderr) or clean_evidence(end.stdout))[-EVIDENCE_LINES_MAX:])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'
