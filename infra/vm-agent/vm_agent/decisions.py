"""The agent's decisions, apart from everything that acts: what is known goes in, what to do comes out."""

import re
import signal
from dataclasses import dataclass
from enum import Enum
from typing import Optional, Sequence, Tuple

from vm_agent.config import Limits
from vm_agent.exit_report import EVIDENCE_LINES_MAX, ExitReport
from vm_agent.state_file import State

# What a notice leaves for after the program's end: the last changed files, the manifest, the report.
FINAL_SAVE_SECONDS = 30.0
DISK_FULL_PATTERN = re.compile(r'No space left on device|Errno 28\b')


@dataclass(frozen=True)
class StopNotice:
    """Why the program has to end before it ends by itself."""

    reason: str
    message: str
    seconds_left: Optional[float] = None
    """What the notice gives until the machine is shut down; None where none says so."""


@dataclass(frozen=True)
class Readings:
    """What the supervisor sees at one moment."""

    silent_seconds: float
    """Since the control plane last answered."""
    running_seconds: Optional[float]
    """Of the program; None for the agent's own tools."""
    disk_bytes: int


@dataclass(frozen=True)
class ProgramEnd:
    """How a child process ended, and what it said last."""

    return_code: int
    """Negative for a signal, as in subprocess."""
    notice: Optional[StopNotice]
    """Why it was stopped; None where it ended by itself."""
    stderr: Sequence[str]
    stdout: Sequence[str]
    was_out_of_memory: bool


class BootPlan(Enum):
    RUN = 'run the program'
    SAVE = 'the program has ended before: save its output, then report'
    REPORT = 'everything is saved: report'
    POWER_OFF = 'everything is done'


def plan_boot(state: State) -> BootPlan:
    """What a boot has left to do: a program that has ended is never run again."""
    if state.exit is None:
        return BootPlan.RUN
    if not state.is_output_saved:
        return BootPlan.SAVE
    return BootPlan.POWER_OFF if state.is_exit_delivered else BootPlan.REPORT


def judge_limits(limits: Limits, readings: Readings) -> Optional[StopNotice]:
    """The limit that was passed first, or None."""
    if readings.disk_bytes > limits.disk_bytes_max:
        return StopNotice(
            'DISK_FULL', f'{readings.disk_bytes} bytes are on the work disk, {limits.disk_bytes_max} are allowed.'
        )
    if readings.running_seconds is not None and readings.running_seconds > limits.max_running_seconds:
        return StopNotice('MAX_RUNNING_TIME', f'The program was stopped after its {limits.max_running_seconds:g} s.')
    if readings.silent_seconds > limits.dead_man_seconds:
        return StopNotice('STOPPED', f'The control plane was not heard from for {limits.dead_man_seconds:g} s.')
    return None


def grace_seconds(notice: StopNotice, limits: Limits) -> float:
    """Between SIGTERM and SIGKILL: all that the notice gives but for the final save, which has half of a short one."""
    if notice.seconds_left is None:
        return limits.stop_grace_seconds
    return max(notice.seconds_left - FINAL_SAVE_SECONDS, notice.seconds_left / 2)


def describe_end(end: ProgramEnd) -> ExitReport:
    """The exit report of the program; the last lines of stderr are the evidence, or those of stdout."""
    reason, message = _judge_end(end)
    return ExitReport(
        reason,
        message,
        exit_code=end.return_code if end.return_code >= 0 else None,
        signal=-end.return_code if end.return_code < 0 else None,
        evidence=_evidence(end),
    )


def _judge_end(end: ProgramEnd) -> Tuple[str, str]:
    if end.notice is not None:
        return end.notice.reason, end.notice.message
    if end.return_code == -signal.SIGKILL and end.was_out_of_memory:
        return 'OUT_OF_MEMORY', 'The kernel killed the program because memory ran out.'
    if end.return_code < 0:
        return 'EXITED', f'The program was ended by {_signal_name(-end.return_code)}.'
    if end.return_code > 0 and any(DISK_FULL_PATTERN.search(line) for line in _evidence(end)[-EVIDENCE_LINES_MAX:]):
        return 'DISK_FULL', 'The program found no space left on the disk.'
    return 'EXITED', f'The program ended with exit code {end.return_code}.'


def _evidence(end: ProgramEnd) -> Tuple[str, ...]:
    return tuple(end.stderr if any(line.strip() for line in end.stderr) else end.stdout)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'
