"""Runs one child process at a time, and stops it when a limit is exceeded or a stop is requested."""

import signal
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Optional, Protocol, Tuple

from vm_agent.control.config import Limits
from vm_agent.control.decisions import ProgramEnd, Readings, StopNotice, check_limits, grace_seconds
from vm_agent.control.stop_signal import StopSignal
from vm_agent.logs.error_lines import ErrorLines
from vm_agent.logs.output_lines import OutputTail
from vm_agent.logs.output_pump import Forward
from vm_agent.program.child_process import ChildProcess, Command
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.gpu_faults import GpuFaults, describe_fault
from vm_agent.program.kernel_messages import read_kernel_messages
from vm_agent.setup.installers import ToolResult

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Monitored:
    """The sources that the supervisor checks while a process runs."""

    limits: Limits
    stop_signal: StopSignal
    last_answer_at: Callable[[], float]
    """When the control plane last answered, by time.monotonic()."""
    disk_bytes: Callable[[], int]
    on_output: Forward
    """Receives the name of a stream, and a block of its whole lines."""
    before_signal: Callable[[], None] = lambda: None
    """Called just before a signal that stops a process."""
    on_started: Callable[[int], None] = lambda _pid: None
    """Receives the process id of the program, which leads its session."""
    gpu_faults: GpuFaults = field(default_factory=lambda: GpuFaults(0))
    find_exception: Callable[[], str] = lambda: ''
    """Returns the kind of that after which a process did not exit, and was ended just now; empty if none was."""


class Process(Protocol):
    """A running program or tool; see ChildProcess."""

    @property
    def pid(self) -> int: ...

    @property
    def return_code(self) -> Optional[int]: ...

    def was_out_of_memory(self) -> bool: ...

    def send_signal(self, number: signal.Signals) -> None: ...

    def clean_up(self) -> int: ...


StartProcess = Callable[[Forward, Callable[[], None]], Process]
"""Starts a process with `on_output` and `on_exit`, which are called from other threads."""


class Supervisor:
    def __init__(self, monitored: Monitored) -> None:
        self._monitored = monitored
        self.gpu_faults = monitored.gpu_faults
        self.program_ended_at: Optional[float] = None
        """Seconds since the epoch; None until the program has ended."""

    def check(self) -> None:
        """Raises ReplicaEnded if there is a reason to stop; called between the agent's own steps."""
        notice = self._find_reason(None)
        if notice is not None:
            raise ReplicaEnded(ExitReport(notice.reason, notice.message))

    def wait(self, seconds: float) -> None:
        """Waits for the time, or for a request to stop. Raises ReplicaEnded if there is a reason to stop."""
        self._monitored.stop_signal.wait(seconds)
        self.check()

    def request_stop(self, message: str) -> None:
        self._monitored.stop_signal.request_stop(StopNotice('STOPPED', message))

    def run_tool(self, command: Command, is_logged: bool = True) -> ToolResult:
        """Runs one of the agent's tools. Raises ReplicaEnded if it had to be stopped."""
        start = partial(ChildProcess, command)
        forward = self._monitored.on_output if is_logged else lambda _stream, _block: None
        end = self._run(start, None, lambda _stream, block: forward('agent', block))
        if end.notice is not None:
            raise ReplicaEnded(ExitReport(end.notice.reason, end.notice.message, evidence=tuple(end.stderr)))
        return ToolResult(end.return_code, (*end.stdout, *end.stderr))

    def run_program(self, start: StartProcess, ran_seconds: float) -> ProgramEnd:
        """Runs the user's program. `ran_seconds` is its running time before a reboot."""
        return self._run(start, time.monotonic() - ran_seconds, self._monitored.on_output)

    def _run(
        self,
        start: StartProcess,
        started_at: Optional[float],
        on_output: Forward,
    ) -> ProgramEnd:
        tails = {'stdout': OutputTail(), 'stderr': OutputTail()}
        errors = {'stdout': ErrorLines(), 'stderr': ErrorLines()}

        def keep_and_forward(stream: str, block: bytes) -> None:
            tails[stream].add(block)
            errors[stream].add(block)
            on_output(stream, block)

        begun_at = time.monotonic()
        process = start(keep_and_forward, self._monitored.stop_signal.wake)
        if started_at is not None:
            self._monitored.on_started(process.pid)
        notice = self._await_end(process, started_at)
        if started_at is not None:
            self.program_ended_at = time.time()
        return_code = process.return_code
        assert return_code is not None
        was_out_of_memory = process.was_out_of_memory()
        process.clean_up()
        notice = notice or self._find_interruption(return_code)
        has_own_gpus = self.gpu_faults.gpu_count > 0
        return ProgramEnd(
            return_code=return_code,
            notice=notice,
            stderr=tails['stderr'].lines(),
            stdout=tails['stdout'].lines(),
            was_out_of_memory=was_out_of_memory,
            stderr_errors=errors['stderr'].lines(),
            stdout_errors=errors['stdout'].lines(),
            kernel=() if return_code == 0 else read_kernel_messages(begun_at, process.pid, has_own_gpus),
            gpu_faults=() if return_code == 0 or started_at is None else self._find_gpu_faults(notice),
            exception='' if return_code == 0 or started_at is None else self._monitored.find_exception(),
        )

    def _await_end(self, process: Process, started_at: Optional[float]) -> Optional[StopNotice]:
        """
        Returns when the process has ended, with the reason if it was stopped: SIGTERM first, SIGKILL after the grace
        period. A later notice can shorten the grace period.
        """
        limits, stop_signal = self._monitored.limits, self._monitored.stop_signal
        notice: Optional[StopNotice] = None
        handled: Optional[StopNotice] = None
        is_killed, kill_at = False, float('inf')
        while process.return_code is None:
            stop_signal.wait(min(POLL_SECONDS, max(0.0, kill_at - time.monotonic())))
            latest = stop_signal.latest
            if notice is None:
                notice = handled = self._find_reason(started_at)
                if notice is not None and process.return_code is None:
                    kill_at = time.monotonic() + grace_seconds(notice, limits)
                    self._monitored.before_signal()
                    process.send_signal(signal.SIGTERM)
            elif not is_killed and time.monotonic() >= kill_at:
                self._monitored.before_signal()
                process.send_signal(signal.SIGKILL)
                is_killed, kill_at = True, float('inf')
            elif not is_killed and latest is not None and latest != handled:
                # The shutdown may begin before the time of its notice is over.
                handled, kill_at = latest, min(kill_at, time.monotonic() + grace_seconds(latest, limits))
        return notice

    def _find_interruption(self, return_code: int) -> Optional[StopNotice]:
        """Returns the notice of an interruption that came just before the process failed: it may be the reason."""
        notice = self._monitored.stop_signal.latest
        return notice if return_code != 0 and notice is not None and notice.is_interruption else None

    def _find_gpu_faults(self, notice: Optional[StopNotice]) -> Tuple[str, ...]:
        """Returns none if the program was stopped for another reason than that it waited, perhaps for a GPU."""
        has_failed = notice is None or (notice.health is not None and notice.health.code == 'STALLED')
        return self.gpu_faults.find() if has_failed else ()

    def _find_reason(self, started_at: Optional[float]) -> Optional[StopNotice]:
        now = time.monotonic()
        readings = Readings(
            unanswered_seconds=now - self._monitored.last_answer_at(),
            running_seconds=None if started_at is None else now - started_at,
            disk_bytes=self._monitored.disk_bytes(),
        )
        lost = self.gpu_faults.find_lost()
        return (
            self._monitored.stop_signal.notice
            or check_limits(self._monitored.limits, readings)
            or (None if lost is None else StopNotice('GPU_FAILED', describe_fault(lost)))
        )
