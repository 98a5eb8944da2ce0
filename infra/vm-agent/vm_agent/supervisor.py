"""Runs one child process at a time, and ends it when there is a reason to."""

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Sequence

from vm_agent.config import Limits
from vm_agent.decisions import ProgramEnd, Readings, StopNotice, grace_seconds, judge_limits
from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.installation import ToolEnd
from vm_agent.mailbox import Mailbox
from vm_agent.output_tail import OutputTail
from vm_agent.program import Command, Program

TICK_SECONDS = 0.5


@dataclass(frozen=True)
class Watch:
    """What the supervisor looks at while a process runs."""

    limits: Limits
    mailbox: Mailbox
    last_word_at: Callable[[], float]
    disk_bytes: Callable[[], int]
    on_line: Callable[[str, str], None]


class Supervisor:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def check(self) -> None:
        """Between the agent's own steps. Raises ReplicaEnded where there is a reason to stop."""
        notice = self._find_reason(None)
        if notice is not None:
            raise ReplicaEnded(ExitReport(notice.reason, notice.message))

    def run_tool(self, command: Command) -> ToolEnd:
        """Runs one of the agent's tools to its end. Raises ReplicaEnded when it had to be stopped."""
        end = self._run(command, None, lambda _stream, line: self._watch.on_line('agent', line))
        if end.notice is not None:
            raise ReplicaEnded(ExitReport(end.notice.reason, end.notice.message, evidence=tuple(end.stderr)))
        return ToolEnd(end.return_code, (*end.stdout, *end.stderr))

    def run_program(self, command: Command, ran_seconds: float) -> ProgramEnd:
        """Runs the user's program, which has run for so long already before a reboot."""
        return self._run(command, time.monotonic() - ran_seconds, self._watch.on_line)

    def _run(self, command: Command, started_at: Optional[float], on_line: Callable[[str, str], None]) -> ProgramEnd:
        tails = {'stdout': OutputTail(), 'stderr': OutputTail()}

        def take(stream: str, line: str) -> None:
            tails[stream].add(line)
            on_line(stream, line)

        killed_before = count_memory_kills()
        program = Program(command, take, self._watch.mailbox.wake)
        notice: Optional[StopNotice] = None
        heeded: Optional[StopNotice] = None
        is_killed, kill_at = False, float('inf')
        while program.return_code is None:
            self._watch.mailbox.wait(min(TICK_SECONDS, max(0.0, kill_at - time.monotonic())))
            latest = self._watch.mailbox.latest
            if notice is None:
                notice = heeded = self._find_reason(started_at)
                if notice is not None and program.return_code is None:
                    kill_at = time.monotonic() + grace_seconds(notice, self._watch.limits)
                    program.send_signal(signal.SIGTERM)
            elif not is_killed and time.monotonic() >= kill_at:
                program.send_signal(signal.SIGKILL)
                is_killed, kill_at = True, float('inf')
            elif not is_killed and latest is not None and latest != heeded:
                # The shutdown itself may come before its notice is over.
                heeded, kill_at = latest, min(kill_at, time.monotonic() + grace_seconds(latest, self._watch.limits))
        return_code = program.return_code
        program.clear()
        return ProgramEnd(
            return_code=return_code,
            notice=notice,
            stderr=tails['stderr'].lines(),
            stdout=tails['stdout'].lines(),
            was_out_of_memory=count_memory_kills() > killed_before,
        )

    def _find_reason(self, started_at: Optional[float]) -> Optional[StopNotice]:
        now = time.monotonic()
        readings = Readings(
            silent_seconds=now - self._watch.last_word_at(),
            running_seconds=None if started_at is None else now - started_at,
            disk_bytes=self._watch.disk_bytes(),
        )
        return self._watch.mailbox.notice or judge_limits(self._watch.limits, readings)


def count_memory_kills() -> int:
    """How often the kernel killed for memory: in this control group, or on the machine where there is none to read."""
    for path in (_memory_events(), Path('/proc/vmstat')):
        try:
            counts = dict(line.split() for line in path.read_text().splitlines())
            return int(counts['oom_kill'])
        except (OSError, ValueError, KeyError):
            continue
    return 0


def _memory_events() -> Path:
    """docs.kernel.org/admin-guide/cgroup-v2.html: `0::/path` names the group below the mount."""
    try:
        groups: Sequence[str] = Path('/proc/self/cgroup').read_text().splitlines()
    except OSError:
        groups = ()
    path = next((line[len('0::/') :] for line in groups if line.startswith('0::/')), '')
    return Path('/sys/fs/cgroup') / path / 'memory.events'
