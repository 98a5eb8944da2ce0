"""All detectors of one program: what they are told, what they have found, and what the job file wants to follow."""

import threading
import time
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Optional, Tuple

from vm_agent.health.finding import Finding, describe_seconds
from vm_agent.health.gpus import GpuIdleDetector, GpuMemoryDetector, InputBoundDetector
from vm_agent.health.loss_curve import LossCurves
from vm_agent.health.non_finite import NonFiniteDetector
from vm_agent.health.pace import Pace
from vm_agent.health.policy import Policy
from vm_agent.health.reading import Reading
from vm_agent.health.space import DISK, MEMORY, SpaceDetector
from vm_agent.health.stack_dump import shorten_frame

GPU_BUSY_FRACTION_MIN = 0.05
# The clock of a report may be wrong.
SAMPLE_SECONDS_MAX = 600.0
DECISIVE_ACTIONS = ('stop', 'restart', 'rollback')


@dataclass(frozen=True)
class Decision:
    """The program is ended for this finding."""

    finding: Finding
    action: str
    bad_since: Optional[float]
    """Checkpoints from before are good. By time.monotonic(); None if the program has never been well."""


class HealthMonitor:
    """Thread-safe. Constant time and memory for each report; what it is told before `start` and after `stop` is ignored."""

    def __init__(self, policy: Policy, clock: Callable[[], float] = time.monotonic) -> None:
        self._policy = policy
        self._clock = clock
        self._lock = threading.Lock()
        self._is_running = False
        self._non_finite = NonFiniteDetector()
        self._curves = LossCurves()
        self._memory, self._disk = SpaceDetector(MEMORY), SpaceDetector(DISK)
        self._gpu_idle, self._gpu_memory, self._input = GpuIdleDetector(), GpuMemoryDetector(), InputBoundDetector()
        self._pace = Pace(clock(), policy.stalled_after_seconds)
        self._stall: Optional[Finding] = None
        self._logged: Dict[str, Tuple[float, bool]] = {}
        self._recorded: Dict[str, Finding] = {}

    def start(self) -> None:
        """The program starts."""
        with self._lock:
            self._pace = Pace(self._clock(), self._policy.stalled_after_seconds)
            self._is_running = True

    def stop(self) -> None:
        """The program has ended, and its last metrics are known: its findings stay as they are."""
        with self._lock:
            if self._is_running:
                self._non_finite.finish()
            self._is_running = False

    def add_output(self, stream: str) -> None:
        """The program has printed. Its metrics in the log arrive as samples."""
        if stream != 'agent':
            with self._lock:
                self._pace.add_report(self._clock())

    def add_sample(self, name: str, value: float, step: Optional[float], seconds_ago: float = 0.0) -> None:
        """Metrics are read a few seconds after they were reported."""
        with self._lock:
            now = self._clock()
            at = now - min(max(seconds_ago, 0.0), SAMPLE_SECONDS_MAX)
            self._pace.add_report(now)
            self._non_finite.add_sample(name, value, step, at)
            self._curves.add_sample(name, value, at)

    def add_reading(self, reading: Reading) -> None:
        with self._lock:
            if not self._is_running:
                return
            if any(gpu.busy_fraction >= GPU_BUSY_FRACTION_MIN for gpu in reading.gpus):
                self._pace.add_activity(reading.at)
            self._memory.add(reading.memory_bytes, reading.memory_bytes_max, reading.at)
            self._disk.add(reading.disk_bytes, reading.disk_bytes_max, reading.at)
            for detector in (self._gpu_idle, self._gpu_memory, self._input):
                detector.add(reading)

    def add_activity(self) -> None:
        """The program's processes did something."""
        with self._lock:
            self._pace.add_activity(self._clock())

    def quiet_fraction(self) -> float:
        """Returns the time without activity as a fraction of the limit; 0 if the program does not run."""
        with self._lock:
            if not self._is_running or self._policy.actions['STALLED'] == 'ignore':
                return 0.0
            return self._pace.quiet_seconds(self._clock()) / self._pace.limit_seconds()

    def is_newly_stalled(self) -> bool:
        """Whether the program has stalled, and no finding says so. Ends the finding of one that goes on."""
        with self._lock:
            now = self._clock()
            is_stalled = self._is_running and self._pace.is_stalled(now)
            known = self._stall is not None and self._stall.until is None
            if known and not is_stalled and self._is_running:
                assert self._stall is not None
                self._stall = replace(self._stall, until=self._pace.quiet_since)
            return is_stalled and not known

    def record_stall(self, stack: Tuple[str, ...]) -> None:
        with self._lock:
            now, gap = self._clock(), self._pace.median_gap()
            pace = '' if gap is None else f' Until then, it reported every {describe_seconds(gap)}.'
            where = f' The main thread was in {shorten_frame(stack[1])}.' if len(stack) > 1 else ''
            self._stall = Finding(
                code='STALLED',
                message=(
                    f'The program has printed nothing, reported no metric and used neither processor nor GPU for '
                    f'{describe_seconds(self._pace.quiet_seconds(now))}.{pace}'
                ),
                remedy=(
                    f'Read the stack in the evidence.{where} Common reasons: a lock or queue that a worker of the data '
                    'loader died with (try num_workers=0, or the start method spawn), a process of a cluster that '
                    'ended, and a request without a timeout. health: { stalled: restart } continues from the last '
                    'checkpoint by itself.'
                ),
                since=self._pace.quiet_since,
                evidence=stack,
            )

    def record(self, finding: Finding) -> None:
        """Records a finding of another part of the agent, in place of the last one with its code."""
        with self._lock:
            self._recorded[finding.code] = finding

    def findings(self) -> List[Finding]:
        """Returns the newest finding of each code that the job file does not ignore."""
        with self._lock:
            return [*self._recorded.values(), *self._findings()]

    def take_news(self) -> List[Finding]:
        """Returns the findings that have begun or ended since the last call."""
        with self._lock:
            news = []
            for finding in [*self._recorded.values(), *self._findings()]:
                state = (finding.since, finding.until is None)
                if self._logged.get(finding.code) != state:
                    self._logged[finding.code] = state
                    news.append(finding)
            return news

    def decide(self) -> Optional[Decision]:
        """Returns the finding for which the program is to be ended, or None."""
        with self._lock:
            if not self._is_running:
                return None
            decisive = {
                'NON_FINITE': self._non_finite.is_decisive,
                'STALLED': self._stall is not None and self._stall.until is None,
                'DIVERGING': self._curves.is_diverging,
            }
            for finding in self._findings():
                action = self._policy.actions[finding.code]
                if decisive.get(finding.code) and action in DECISIVE_ACTIONS:
                    return Decision(finding, action, self._find_bad_since())
            return None

    def _find_bad_since(self) -> Optional[float]:
        return self._non_finite.loss_since if self._non_finite.has_seen_finite else None

    def _findings(self) -> List[Finding]:
        found = [
            *self._non_finite.findings(),
            *self._curves.findings(),
            *([] if self._stall is None else [self._stall]),
            *self._gpu_idle.findings(),
            *self._gpu_memory.findings(),
            *self._input.findings(),
            *self._memory.findings(),
            *self._disk.findings(),
        ]
        return [finding for finding in found if self._policy.actions[finding.code] != 'ignore']
