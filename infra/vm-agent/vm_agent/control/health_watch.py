"""The thread that asks the detectors: it logs their findings, dumps the stacks of a program that stalls, and ends it."""

import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from vm_agent.control.decisions import StopNotice, describe_stuck
from vm_agent.control.stop_signal import StopSignal
from vm_agent.health.finding import Finding
from vm_agent.health.monitor import Decision, HealthMonitor
from vm_agent.health.process_activity import Work, is_active, list_session, measure_work
from vm_agent.health.reading import Reading
from vm_agent.health.stack_dump import dump_stacks, summarize
from vm_agent.health.stuck_exit import StuckExits
from vm_agent.logs.once_log import OnceLog
from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.system_metrics import SystemReading
from vm_agent.program.exit_report import DecisiveFinding

POLL_SECONDS = 2.0
# Processes are only looked at while the program is quiet.
QUIET_FRACTION_MIN = 0.1
# The findings of one heartbeat, which has 64 KiB for everything, most of it for the evidence of an exit.
FINDINGS_BYTES_MAX = 6_144


@dataclass(frozen=True)
class Outlets:
    """Where findings go."""

    stop_signal: StopSignal
    log: Callable[[str, str], None]


class HealthWatch:
    """Started once; follows the program from `start` to `stop`."""

    def __init__(self, monitor: HealthMonitor, outlets: Outlets, disk: Tuple[Callable[[], int], int]) -> None:
        """`disk` has the bytes that the VM uses, and their limit."""
        self.monitor = monitor
        self.stuck = StuckExits()
        self._stop_signal = outlets.stop_signal
        self._log = outlets.log
        self._once = OnceLog(outlets.log)
        self._disk_bytes, self._disk_bytes_max = disk
        self._venv = Path()
        self._find_dump_file: Callable[[], Path] = Path
        self._pid = 0
        self._work: Optional[Tuple[float, Work]] = None
        self._is_decided = False
        self._stopped = threading.Event()

    def start(self, pid: int, venv: Path, find_dump_file: Callable[[], Path]) -> None:
        """
        `pid` is the leader of the program's session; py-spy may be in `venv`; `find_dump_file` raises ValueError.
        """
        self._pid, self._venv, self._find_dump_file = pid, venv, find_dump_file
        self.monitor.start()
        threading.Thread(target=self._run, name='health', daemon=True).start()

    def add_output(self, stream: str) -> None:
        self.stuck.add_report()
        self._safely(lambda: self.monitor.add_output(stream))

    def on_sample(self, sample: Sample) -> None:
        self.stuck.add_report()
        seconds_ago = 0.0 if sample.wall_time is None else time.time() - sample.wall_time
        self._safely(lambda: self.monitor.add_sample(sample.name, sample.value, sample.step, seconds_ago))

    def on_reading(self, reading: SystemReading) -> None:
        values = reading.values
        used, free = self._disk_bytes(), values.get('disk/free')
        self.monitor.add_reading(
            Reading(
                at=time.monotonic(),
                cpu_fraction=values.get('cpu/fraction'),
                cpu_count=os.cpu_count() or 1,
                memory_bytes=values.get('memory/used'),
                memory_bytes_max=values.get('memory/total'),
                disk_bytes=used,
                # The disk may have less space than the job may use.
                disk_bytes_max=self._disk_bytes_max if free is None else min(self._disk_bytes_max, used + free),
                disk_read_bytes_per_second=values.get('disk/read'),
                network_read_bytes_per_second=values.get('network/received'),
                gpus=reading.gpus,
            )
        )

    def stop(self) -> None:
        """The program has ended, and its output is read."""
        self._stopped.set()
        self.monitor.stop()
        self._safely(self._log_news)

    def to_json(self) -> List[Dict[str, Any]]:
        """Returns the findings as a heartbeat has them: within its limits, those that last first."""
        bodies: List[Dict[str, Any]] = []
        self._safely(lambda: bodies.extend(self._list_bodies()))
        return bodies

    def _safely(self, act: Callable[[], None]) -> None:
        """A defect of a detector costs findings, not the job."""
        try:
            act()
        except Exception as error:
            self._once.warn(f'The health of the program is no longer known completely: {error!r}', 'health')

    def _list_bodies(self) -> List[Dict[str, Any]]:
        offset = time.time() - time.monotonic()
        found = sorted(self.monitor.findings(), key=lambda finding: finding.until is not None)
        bodies: List[Dict[str, Any]] = []
        left = FINDINGS_BYTES_MAX
        for finding in found:
            body = finding.to_json(offset)
            while len(json.dumps(body)) > left // 2 and body['evidence']:
                body['evidence'] = body['evidence'][1:]
            left -= len(json.dumps(body))
            if left < 0:
                break
            bodies.append(body)
        return bodies

    def _run(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            self._safely(self._check)

    def _check(self) -> None:
        self._check_stall()
        self._log_news()
        decision = None if self._is_decided else self.monitor.decide()
        if decision is not None:
            self._is_decided = True
            self._stop_signal.request_stop(_notice_of(decision))
        self._end_stuck()

    def _check_stall(self) -> None:
        if self.monitor.quiet_fraction() < QUIET_FRACTION_MIN:
            self._work = None
        else:
            now, work = time.monotonic(), measure_work(list_session(self._pid))
            if self._work is not None and is_active(self._work[1], work, now - self._work[0]):
                self.monitor.add_activity()
            self._work = (now, work)
        if self.monitor.is_newly_stalled():
            self._record_stall()

    def _record_stall(self) -> None:
        pids = sorted(list_session(self._pid), key=lambda pid: (pid != self._pid, pid))
        self.monitor.record_stall(summarize(self._log_stacks(pids, 'The stacks of the program, which has stalled:')))

    def _end_stuck(self) -> None:
        for process in self.stuck.find(self._find_dump_file()):
            self._log_stacks(process.pids, f'{describe_stuck(process.exception)} The stacks of its threads:')
            self.stuck.end(process)

    def _log_stacks(self, pids: Sequence[int], heading: str) -> Tuple[str, ...]:
        try:
            lines = dump_stacks(pids, self._find_dump_file(), self._venv / 'bin' / 'python')
        except (OSError, ValueError):
            lines = ()
        for line in (heading, *(f'  {line}' for line in lines)) if lines else ():
            self._log(line, 'WARNING')
        return lines

    def _log_news(self) -> None:
        for finding in self.monitor.take_news():
            self._log(describe(finding), 'INFO' if finding.until is not None else 'WARNING')


def describe(finding: Finding) -> str:
    """Returns the line of the log."""
    if finding.until is not None:
        return f'Health: {finding.code} is over. It was: {finding.message}'
    return f'Health: {finding.code}: {finding.message} {finding.remedy}'


def _notice_of(decision: Decision) -> StopNotice:
    finding = decision.finding
    since = decision.bad_since
    bad_since = None if since is None else time.time() - max(0.0, time.monotonic() - since)
    then = {
        'stop': 'The program was stopped (docs/health.md says how a job file changes that).',
        'restart': 'The program was stopped to be restarted from its last checkpoint.',
        'rollback': 'The program was stopped to go back to an earlier checkpoint.',
    }[decision.action]
    return StopNotice(
        reason='UNHEALTHY',
        message=f'{finding.message} {then}',
        health=DecisiveFinding(finding.code, decision.action, finding.remedy, bad_since),
        evidence=finding.evidence,
    )
