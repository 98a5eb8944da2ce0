"""Heartbeats: what the replica does, said to the control plane, and its answer (shared/protocol/heartbeat.ts)."""

import itertools
import json
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional

from vm_agent.config import PROTOCOL_VERSION, Config
from vm_agent.decisions import StopNotice
from vm_agent.exit_report import ExitReport
from vm_agent.http_request import Request, explain, send
from vm_agent.mailbox import Mailbox
from vm_agent.retry import PassingFault, backoff_delays
from vm_agent.tokens import CachedToken

SEND_SECONDS_MAX = 10.0
# A replica that is ready costs money while it waits for the word that it may start.
WAITING_SECONDS = 5.0
NO_USAGE: Mapping[str, Any] = {
    'cpuFraction': None,
    'memoryBytes': None,
    'memoryBytesMax': None,
    'diskBytes': None,
    'diskBytesMax': None,
    'gpus': [],
}


@dataclass(frozen=True)
class Report:
    """What one heartbeat says."""

    phase: str
    usage: Mapping[str, Any]
    progress: Mapping[str, Any]
    exit: Optional[ExitReport] = None


@dataclass(frozen=True)
class Senses:
    """Where a heartbeat's figures come from."""

    usage: Callable[[], Dict[str, Any]]
    progress: Callable[[], Dict[str, Any]]


def heartbeat_body(config: Config, sequence: int, report: Report) -> Dict[str, Any]:
    return {
        'protocol': PROTOCOL_VERSION,
        'jobId': config.job_id,
        'attempt': config.attempt,
        'role': config.role,
        'index': config.index,
        'sequence': sequence,
        'phase': report.phase,
        'usage': dict(report.usage),
        'progress': dict(report.progress),
        'exit': None if report.exit is None else report.exit.to_json(),
    }


def judge_answer(answer: Mapping[str, Any]) -> Optional[StopNotice]:
    """STOP is a reason to end the program, CONTINUE and WAIT are none."""
    if answer['command'] != 'STOP':
        return None
    return StopNotice('STOPPED', f'The control plane said stop: {answer.get("reason") or "no reason given"}')


class Heartbeats:
    """Says how it goes at every interval and at once at every change of phase; STOP goes to the mailbox."""

    def __init__(self, config: Config, token: CachedToken, mailbox: Mailbox, say: Callable[[str, str], None]) -> None:
        self._config = config
        self._token = token
        self._mailbox = mailbox
        self._say = say
        self._phase = 'BOOTING'
        self._changed = threading.Event()
        self._is_over = False
        self._sending = threading.Lock()
        self.last_word_at = time.monotonic()
        """When the control plane last answered."""
        self.may_start = config.replica_count == 1
        """Whether the control plane knows that all machines of the cluster exist; of one machine it is known."""

    def start(self, first_sequence: int, senses: Senses) -> None:
        self._sequence = itertools.count(first_sequence)
        self._senses = senses
        threading.Thread(target=self._run, name='heartbeat', daemon=True).start()

    def enter(self, phase: str) -> None:
        self._phase = phase
        self._changed.set()

    def deliver_exit(self, report: ExitReport) -> bool:
        """The last heartbeat, repeated until it is answered. False when the dead-man's switch came first."""
        self._is_over = True
        self._changed.set()
        with self._sending:
            last = Report('EXITED', NO_USAGE, self._senses.progress(), report)
            for delay_seconds in backoff_delays():
                if self._exchange(last) is not None:
                    return True
                if time.monotonic() - self.last_word_at > self._config.limits.dead_man_seconds:
                    return False
                time.sleep(min(delay_seconds, self._config.intervals.heartbeat_seconds))
        raise AssertionError('backoff_delays never ends')

    def is_cut_off(self) -> bool:
        """Whether the control plane has missed heartbeats, and the dead-man's switch has not yet spoken."""
        silent_seconds = time.monotonic() - self.last_word_at
        return 2 * self._config.intervals.heartbeat_seconds < silent_seconds < self._config.limits.dead_man_seconds

    def _run(self) -> None:
        delays = backoff_delays()
        while not self._is_over:
            self._changed.clear()
            with self._sending:
                if self._is_over:
                    return
                answer = self._exchange(Report(self._phase, self._senses.usage(), self._senses.progress()))
            if answer is not None:
                delays = backoff_delays()
                notice = judge_answer(answer)
                if notice is not None:
                    self._mailbox.post(notice)
                self._note_permission(answer)
            interval = self._interval()
            self._changed.wait(interval if answer is not None else min(next(delays), interval))

    def _note_permission(self, answer: Mapping[str, Any]) -> None:
        if answer['command'] == 'CONTINUE' and not self.may_start:
            self.may_start = True
            self._mailbox.wake()

    def _interval(self) -> float:
        interval = self._config.intervals.heartbeat_seconds
        return min(interval, WAITING_SECONDS) if self._phase == 'WAITING' else interval

    def _exchange(self, report: Report) -> Optional[Dict[str, Any]]:
        """One heartbeat and its answer; None when there was none that counts."""
        body = json.dumps(heartbeat_body(self._config, next(self._sequence), report), allow_nan=False).encode()
        try:
            headers = {**self._token.identity_headers(), 'Content-Type': 'application/json'}
            url = self._config.endpoints.heartbeat_url
            response = send(Request('POST', url, headers, body, timeout_seconds=SEND_SECONDS_MAX))
            if response.status == 200:
                answer = response.json()
                if isinstance(answer, dict) and answer.get('command') in ('CONTINUE', 'WAIT', 'STOP'):
                    self.last_word_at = time.monotonic()
                    return answer
            if response.status == 401:
                self._token.forget()
            # Whoever answers so is not the control plane, or does not know this VM: it is no word.
            self._say(f'The heartbeat was answered with {response.status}: {explain(response)}', 'WARNING')
        except PassingFault as fault:
            self._say(f'The heartbeat was not answered: {fault}', 'WARNING')
        return None
