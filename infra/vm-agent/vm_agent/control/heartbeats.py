"""Heartbeats to the control plane, and its answers (shared/protocol/heartbeat.ts)."""

import itertools
import json
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional

from vm_agent.control.config import Config
from vm_agent.control.decisions import StopNotice
from vm_agent.control.stop_signal import StopSignal
from vm_agent.http.cached_token import CachedToken
from vm_agent.http.request import Request, error_message, send
from vm_agent.http.retry import TransientError, backoff_delays
from vm_agent.program.exit_report import ExitReport
from vm_agent.program.progress import Progress
from vm_agent.program.usage import Usage

SEND_SECONDS_MAX = 10.0
# A replica that is ready to start costs money while it waits for the rest of its cluster.
WAITING_INTERVAL_SECONDS = 5.0


@dataclass(frozen=True)
class Status:
    """The variable part of a heartbeat."""

    phase: str
    usage: Usage
    progress: Progress
    exit: Optional[ExitReport] = None


@dataclass(frozen=True)
class Probes:
    """Measure what each heartbeat reports."""

    usage: Callable[[], Usage]
    progress: Callable[[], Progress]


def heartbeat_body(config: Config, sequence: int, status: Status) -> Dict[str, Any]:
    spec = config.spec
    return {
        'protocol': config.protocol,
        'jobId': spec.job_id,
        'attempt': spec.attempt,
        'role': spec.role,
        'index': spec.index,
        'sequence': sequence,
        'phase': status.phase,
        'usage': status.usage.to_json(),
        'progress': status.progress.to_json(),
        'exit': None if status.exit is None else status.exit.to_json(),
    }


def evaluate_answer(answer: Mapping[str, Any]) -> Optional[StopNotice]:
    """Returns a reason to stop for the command STOP; None for CONTINUE and WAIT."""
    if answer['command'] != 'STOP':
        return None
    reason = answer.get('reason') or 'no reason given'
    return StopNotice('STOPPED', f'The control plane stopped this replica: {reason}')


class Heartbeats:
    """Sends a heartbeat at every interval, and immediately when the phase changes. A STOP answer requests a stop."""

    def __init__(
        self, config: Config, token: CachedToken, stop_signal: StopSignal, log: Callable[[str, str], None]
    ) -> None:
        self._config = config
        self._token = token
        self._stop_signal = stop_signal
        self._log = log
        self._phase = 'BOOTING'
        self._changed = threading.Event()
        self._is_finished = False
        self._sending = threading.Lock()
        self.last_answer_at = time.monotonic()
        """By time.monotonic()."""
        self.may_start = config.replica_count == 1
        """Whether the control plane has confirmed that all VMs of the cluster exist; not needed for a single VM."""

    def start(self, first_sequence: int, probes: Probes) -> None:
        self._sequence = itertools.count(first_sequence)
        self._probes = probes
        threading.Thread(target=self._run, name='heartbeat', daemon=True).start()

    def set_phase(self, phase: str) -> None:
        self._phase = phase
        self._changed.set()

    def deliver_exit(self, report: ExitReport) -> bool:
        """Sends the last heartbeat until it is answered. Returns False if the control-plane timeout ends first."""
        self._is_finished = True
        self._changed.set()
        with self._sending:
            last = Status('EXITED', Usage(), self._probes.progress(), report)
            for delay_seconds in backoff_delays():
                if self._exchange(last) is not None:
                    return True
                if self._unanswered_seconds() > self._config.limits.control_plane_timeout_seconds:
                    return False
                time.sleep(min(delay_seconds, self._config.intervals.heartbeat_seconds))
        raise AssertionError('backoff_delays never ends')

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
                answer = self._exchange(Status(self._phase, self._probes.usage(), self._probes.progress()))
            if answer is not None:
                delays = backoff_delays()
                notice = evaluate_answer(answer)
                if notice is not None:
                    self._stop_signal.request_stop(notice)
                self._update_may_start(answer)
            interval = self._interval()
            self._changed.wait(interval if answer is not None else min(next(delays), interval))

    def _update_may_start(self, answer: Mapping[str, Any]) -> None:
        if answer['command'] == 'CONTINUE' and not self.may_start:
            self.may_start = True
            self._stop_signal.wake()

    def _interval(self) -> float:
        interval = self._config.intervals.heartbeat_seconds
        return min(interval, WAITING_INTERVAL_SECONDS) if self._phase == 'WAITING' else interval

    def _exchange(self, status: Status) -> Optional[Dict[str, Any]]:
        """Sends one heartbeat. Returns the answer, or None if there was no valid one."""
        body = json.dumps(heartbeat_body(self._config, next(self._sequence), status), allow_nan=False).encode()
        try:
            headers = {**self._token.identity_headers(), 'Content-Type': 'application/json'}
            url = self._config.endpoints.heartbeat_url
            response = send(Request('POST', url, headers, body, timeout_seconds=SEND_SECONDS_MAX))
            if response.status == 200:
                answer = response.json()
                if isinstance(answer, dict) and answer.get('command') in ('CONTINUE', 'WAIT', 'STOP'):
                    self.last_answer_at = time.monotonic()
                    return answer
            if response.status == 401:
                self._token.invalidate()
            # From an intermediary, or from a control plane that rejects this VM: it does not count as an answer.
            self._log(f'The heartbeat was rejected with {response.status}: {error_message(response)}', 'WARNING')
        except TransientError as error:
            self._log(f'The heartbeat was not answered: {error}', 'WARNING')
        return None
