"""Heartbeats to the control plane, and its answers (shared/protocol/heartbeat.ts)."""

import itertools
import json
import random
import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from vm_agent.control.config import Config
from vm_agent.control.decisions import StopNotice
from vm_agent.control.logs import Logs
from vm_agent.control.observer import Observer
from vm_agent.control.stop_signal import Interruption, StopSignal
from vm_agent.control.vm import Vm
from vm_agent.http.cached_token import CachedToken
from vm_agent.http.request import Request, Response, error_message, send
from vm_agent.http.retry import TransientError, backoff_delays
from vm_agent.metrics.samples.measurements import Measurement
from vm_agent.metrics.samples.progress import Progress
from vm_agent.program.exit_report import MESSAGE_CHARS_MAX, ExitReport, truncate
from vm_agent.program.usage import Usage

# The control plane accepts this version and the one before: VMs keep the agent that they were created with.
PROTOCOL_VERSION = 2
SEND_SECONDS_MAX = 10.0
# HEARTBEAT_BYTES_MAX of the control plane.
BYTES_MAX = 65_536
# A replica that is ready to start costs money while it waits for the rest of its cluster.
WAITING_INTERVAL_SECONDS = 5.0


@dataclass(frozen=True)
class ProgramEndTime:
    """When the program ended, by this VM's clock and as the time since then: the clock may be wrong."""

    at: float
    """Seconds since the epoch."""
    seconds_ago: float


@dataclass(frozen=True)
class Reboot:
    """A boot after the VM's first, numbered from 1."""

    count: int
    seconds_ago: float


@dataclass(frozen=True)
class Status:
    """The variable part of a heartbeat."""

    phase: str
    usage: Usage
    progress: Progress
    exit: Optional[ExitReport] = None
    notice: Optional[Interruption] = None
    program_end: Optional[ProgramEndTime] = None
    pending_exit: Optional[ExitReport] = None
    """The exit that follows when the output is saved."""
    reboot: Optional[Reboot] = None
    measurements: Tuple[Measurement, ...] = ()
    """The measurements of a trial since the last heartbeat that was answered."""
    health: Sequence[Mapping[str, Any]] = ()
    """The findings about the program."""


def heartbeat_body(config: Config, sequence: int, status: Status) -> Dict[str, Any]:
    spec = config.spec
    return {
        'protocol': PROTOCOL_VERSION,
        'jobId': spec.job_id,
        'attempt': spec.attempt,
        'role': spec.role,
        'index': spec.index,
        'sequence': sequence,
        'phase': status.phase,
        'usage': status.usage.to_json(),
        'progress': status.progress.to_json(),
        'exit': None if status.exit is None else status.exit.to_json(),
        **_optional_fields(status),
    }


def _optional_fields(status: Status) -> Dict[str, Any]:
    """Returns the fields that only some heartbeats have; an older control plane ignores them."""
    fields: Dict[str, Any] = {}
    if status.notice is not None:
        notice = status.notice
        fields['notice'] = {
            'isStopping': notice.is_stopping,
            'secondsLeft': notice.seconds_left,
            'message': truncate(notice.message, MESSAGE_CHARS_MAX),
        }
    if status.program_end is not None:
        end = status.program_end
        fields['programEnd'] = {'at': max(0, round(end.at * 1_000)), 'secondsAgo': end.seconds_ago}
    if status.pending_exit is not None:
        fields['pendingExit'] = status.pending_exit.to_json()
    if status.measurements:
        fields['measurements'] = [measurement.to_json() for measurement in status.measurements]
    if status.reboot is not None:
        fields['reboot'] = {'count': status.reboot.count, 'secondsAgo': status.reboot.seconds_ago}
    if status.health:
        fields['health'] = list(status.health)
    return fields


def encode_heartbeat(body: Dict[str, Any]) -> bytes:
    """
    Returns the JSON of a heartbeat. If every part of it is as large as it may be, the whole exceeds what the control
    plane reads: then findings are left out, which a later heartbeat repeats, and then the first lines of the evidence.
    """
    encoded = json.dumps(body, allow_nan=False).encode()
    if len(encoded) > BYTES_MAX and 'health' in body:
        body = {name: value for name, value in body.items() if name != 'health'}
        encoded = json.dumps(body, allow_nan=False).encode()
    while len(encoded) > BYTES_MAX:
        reports = [report for report in (body['exit'], body.get('pendingExit')) if report and report['evidence']]
        if not reports:
            break
        for report in reports:
            report['evidence'] = report['evidence'][(len(report['evidence']) + 1) // 2 :]
        encoded = json.dumps(body, allow_nan=False).encode()
    return encoded


def post_heartbeat(url: str, token: CachedToken, body: bytes) -> Response:
    """Sends a heartbeat once. Raises TransientError."""
    headers = {**token.identity_headers(), 'Content-Type': 'application/json'}
    return send(Request('POST', url, headers, body, timeout_seconds=SEND_SECONDS_MAX))


def evaluate_answer(answer: Mapping[str, Any]) -> Optional[StopNotice]:
    """Returns a reason to stop for the command STOP; None for CONTINUE and WAIT."""
    if answer['command'] != 'STOP':
        return None
    reason = answer.get('reason') or 'no reason given'
    is_early_stop = answer.get('isEarlyStop') is True
    return StopNotice('STOPPED', f'The control plane stopped this replica: {reason}', is_early_stop=is_early_stop)


def keep_seconds_of(answer: Mapping[str, Any]) -> float:
    """Returns for how long the VM is kept after its exit; 0 for not at all."""
    seconds = answer.get('keepSeconds')
    return float(seconds) if isinstance(seconds, (int, float)) else 0.0


def peer_secret_of(answer: Mapping[str, Any]) -> str:
    """Returns the secret with which the agents of this attempt speak to each other; '' for a single VM or with STOP."""
    return str(answer.get('peerSecret') or '')


class Heartbeats:
    """
    Sends a heartbeat at every interval, and immediately when the phase changes or Compute Engine announces the end of
    the VM. A STOP answer requests a stop.
    """

    def __init__(self, vm: Vm, token: CachedToken, stop_signal: StopSignal, logs: Logs) -> None:
        self._vm = vm
        self._config = vm.config
        self._token = token
        self._stop_signal = stop_signal
        self._log = logs.log
        self._mask = logs.mask
        self._phase = 'BOOTING'
        self._started_at = time.monotonic()
        self._pending_exit: Optional[ExitReport] = None
        self._ended_at: Optional[float] = None
        self._changed = threading.Event()
        self._is_finished = False
        self._sending = threading.Lock()
        self._unanswered_count = 0
        self.last_answer_at = time.monotonic()
        """By time.monotonic()."""
        self._keep_seconds = 0.0
        self.peer_secret = ''
        """The newest that the control plane has given; in memory only."""
        self.may_start = vm.config.replica_count == 1
        """Whether the control plane has confirmed that all VMs of the cluster exist; not needed for a single VM."""

    def start(self, first_sequence: int, observer: Observer) -> None:
        """Each heartbeat reports what the observer has measured."""
        self._sequence = itertools.count(first_sequence)
        self._observer = observer
        self._stop_signal.on_interruption.append(self._changed.set)
        threading.Thread(target=self._run, name='heartbeat', daemon=True).start()

    def set_phase(self, phase: str) -> None:
        self._phase = phase
        self._changed.set()

    def set_program_end(self, report: ExitReport, ended_at: Optional[float]) -> None:
        """
        Reports from now on how the program ended, while its output is still being saved. `ended_at` is in seconds since
        the epoch, None if the program was never started.
        """
        self._pending_exit, self._ended_at = report, ended_at

    def deliver_exit(self, report: ExitReport) -> bool:
        """Sends the last heartbeat until it is answered. Returns False if the control-plane timeout ends first."""
        self._is_finished = True
        self._changed.set()
        with self._sending:
            progress = self._observer.metrics.progress()
            for delay_seconds in backoff_delays():
                if self._exchange_exit(progress, report):
                    return True
                if self._unanswered_seconds() > self._config.limits.control_plane_timeout_seconds:
                    return False
                time.sleep(min(delay_seconds, self._config.intervals.heartbeat_seconds))
        raise AssertionError('backoff_delays never ends')

    def stay(self, report: ExitReport) -> None:
        """
        Returns when this VM is to power off after its delivered exit: at once, unless the control plane keeps it for a
        look. Not later than the job allows by this VM's own clock, nor without a control plane.
        """
        limits, stop_notice = self._config.limits, self._stop_signal.latest
        ends_at = time.monotonic() + limits.keep_on_failure_seconds
        while self._stop_signal.latest is stop_notice:
            ends_at = min(ends_at, time.monotonic() + self._keep_seconds)
            seconds_left = ends_at - time.monotonic()
            if seconds_left <= 0 or self._unanswered_seconds() > limits.control_plane_timeout_seconds:
                return
            self._stop_signal.wait(min(self._config.intervals.heartbeat_seconds, seconds_left))
            self._exchange_exit(self._observer.metrics.progress(), report)

    def _exchange_exit(self, progress: Progress, report: ExitReport) -> bool:
        """Sends the exit once. Returns whether it was answered, and notes for how long the VM is kept."""
        answer = self._exchange(self._status('EXITED', Usage(), progress, report))
        if answer is not None:
            self._keep_seconds = keep_seconds_of(answer)
        return answer is not None

    def is_unreachable(self) -> bool:
        """Whether the control plane has not answered for two intervals, and its timeout has not ended yet."""
        timeout_seconds = self._config.limits.control_plane_timeout_seconds
        return 2 * self._config.intervals.heartbeat_seconds < self._unanswered_seconds() < timeout_seconds

    def _unanswered_seconds(self) -> float:
        return time.monotonic() - self.last_answer_at

    def _run(self) -> None:
        delays = backoff_delays()
        while not self._is_finished:
            self._changed.clear()
            with self._sending:
                if self._is_finished:
                    return
                progress, sent_at = self._observer.metrics.progress(), time.monotonic()
                answer = self._exchange(self._status(self._phase, self._observer.usage.measure(), progress))
            if answer is not None:
                delays = backoff_delays()
                notice = evaluate_answer(answer)
                if notice is not None:
                    self._stop_signal.request_stop(notice)
                self._update_may_start(answer)
            interval = self._interval()
            if answer is not None:
                self._changed.wait(interval)
            else:
                # A control plane that takes long to fail is overloaded, and a heartbeat that comes soon adds to that.
                took_seconds = time.monotonic() - sent_at
                self._changed.wait(min(next(delays) + took_seconds * random.uniform(0.5, 1.5), 2 * interval))

    def _status(
        self, phase: str, usage: Usage, progress: Progress, report: Optional[ExitReport] = None
    ) -> Status:
        ended_at = self._ended_at
        end = None if ended_at is None else ProgramEndTime(ended_at, max(0.0, time.time() - ended_at))
        return Status(
            phase=phase,
            usage=usage,
            progress=progress,
            exit=report,
            notice=self._stop_signal.interruption,
            program_end=end,
            pending_exit=self._pending_exit if report is None else None,
            reboot=Reboot(self._vm.boot, time.monotonic() - self._started_at) if self._vm.boot > 0 else None,
            measurements=self._observer.metrics.batch(),
            health=self._observer.health.to_json(),
        )

    def _update_may_start(self, answer: Mapping[str, Any]) -> None:
        if answer['command'] == 'CONTINUE' and not self.may_start:
            self.may_start = True
            self._stop_signal.wake()

    def _interval(self) -> float:
        interval = self._config.intervals.heartbeat_seconds
        return min(interval, WAITING_INTERVAL_SECONDS) if self._phase == 'WAITING' else interval

    def _exchange(self, status: Status) -> Optional[Dict[str, Any]]:
        """Sends one heartbeat. Returns the answer, or None if there was no valid one."""
        body = encode_heartbeat(heartbeat_body(self._config, next(self._sequence), status))
        try:
            response = post_heartbeat(self._config.endpoints.heartbeat_url, self._token, body)
            if response.status == 200:
                answer = response.json()
                if isinstance(answer, dict) and answer.get('command') in ('CONTINUE', 'WAIT', 'STOP'):
                    self._on_answer(answer)
                    self._observer.metrics.remove(status.measurements)
                    return answer
            if response.status == 401:
                self._token.invalidate()
            # From an intermediary, or from a control plane that rejects this VM: it does not count as an answer.
            self._on_failure(f'The heartbeat was rejected with {response.status}: {error_message(response)}')
        except TransientError as error:
            self._on_failure(f'The heartbeat was not answered: {error}')
        return None

    def _on_answer(self, answer: Mapping[str, Any]) -> None:
        seconds, count = self._unanswered_seconds(), self._unanswered_count
        self.last_answer_at, self._unanswered_count = time.monotonic(), 0
        secret = peer_secret_of(answer)
        if secret not in ('', self.peer_secret):
            self._mask.add(secret)
            self.peer_secret = secret
        if count > 1:
            self._log(f'The control plane answers again, after {count} heartbeats in {seconds:.0f} s without answer.', 'INFO')

    def _on_failure(self, text: str) -> None:
        """One line for an outage, whatever fails in it."""
        self._unanswered_count += 1
        if self._unanswered_count == 1:
            self._log(text, 'WARNING')
