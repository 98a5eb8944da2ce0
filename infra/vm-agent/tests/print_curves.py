"""
Replays training logs and curves whose course is known, and prints what the monitor made of them:

    python3 infra/vm-agent/tests/print_curves.py [FILE.jsonl…]
"""

import json
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

from health_policy import policy_with
from vm_agent.health.finding import Finding
from vm_agent.health.monitor import HealthMonitor
from vm_agent.metrics.program_metrics import READ_SECONDS
from vm_agent.metrics.samples.records import Sample, read_report
from vm_agent.metrics.sources.log_lines import LogLines

CURVES = HERE / 'curves'
HEALTHY = 'healthy'
ILL_CODES = ('NON_FINITE', 'DIVERGING')


class Verdict(NamedTuple):
    id: str
    label: str
    stopped_for: Optional[str]
    """The code for which the program would have been ended, by default."""
    findings: Dict[str, Finding]
    """The first finding of each code."""

    @property
    def is_warned(self) -> bool:
        return any(code in self.findings for code in ILL_CODES)

    @property
    def is_right(self) -> bool:
        return self.is_warned == (self.label != HEALTHY)


class _Replay:
    """One program, whose time is that of its lines."""

    def __init__(self, row: Dict[str, Any]) -> None:
        self.now = 1_000.0
        self.monitor = HealthMonitor(policy_with({}), lambda: self.now)
        self.monitor.start()
        self._log = LogLines(takes_all=False)
        self._is_log = row['how'] == 'log'
        self._seconds = float(row['seconds_per_line'])
        self._lines: Sequence[str] = row['lines']
        self._findings: Dict[str, Finding] = {}
        self._stopped_for: Optional[str] = None

    def run(self) -> 'tuple[Optional[str], Dict[str, Finding]]':
        read_at = self.now
        for line in self._lines:
            self.now += self._seconds
            if self._is_log:
                self.monitor.add_output('stdout')
                self._log.add(line.encode() + b'\n')
            else:
                self._report(read_samples(line))
            if self.now - read_at >= READ_SECONDS:
                self._report(self._log.read(False), self.now - read_at)
                read_at = self.now
        self._report(self._log.read(True), self.now - read_at)
        self.monitor.stop()
        self._look()
        return self._stopped_for, self._findings

    def _report(self, samples: Sequence[Sample], seconds: float = 0.0) -> None:
        for index, sample in enumerate(samples, 1):
            self.monitor.add_sample(sample.name, sample.value, sample.step, seconds * (1 - index / len(samples)))
        self._look()

    def _look(self) -> None:
        decision = self.monitor.decide()
        if decision is not None and self._stopped_for is None:
            self._stopped_for = decision.finding.code
        for finding in self.monitor.findings():
            self._findings.setdefault(finding.code, finding)


def read_samples(line: str) -> List[Sample]:
    report = read_report(line.encode())
    return [Sample(name, value, report.step) for name, value in report.metrics.items()]


def evaluate(row: Dict[str, Any]) -> Verdict:
    return Verdict(row['id'], row['label'], *_Replay(row).run())


def read_rows(paths: Iterable[Path]) -> List[Dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text('utf-8').splitlines() if line.strip()]


def describe(verdicts: Sequence[Verdict]) -> str:
    healthy = [one for one in verdicts if one.label == HEALTHY]
    ill = [one for one in verdicts if one.label != HEALTHY]
    lines = [
        f'{len(healthy)} healthy: {sum(one.stopped_for is not None for one in healthy)} ended by error, '
        f'{sum(one.is_warned for one in healthy)} with a false warning',
        f'{len(ill)} ill: {sum(one.is_warned for one in ill)} found, {sum(one.stopped_for is not None for one in ill)} ended',
    ]
    labels: Set[str] = {one.label for one in ill}
    for label in sorted(labels):
        of_label = [one for one in ill if one.label == label]
        lines.append(f'  {label}: {sum(one.is_warned for one in of_label)} of {len(of_label)} found')
    for one in verdicts:
        if not one.is_right or (one.label == HEALTHY and one.stopped_for is not None):
            said = '; '.join(finding.message for finding in one.findings.values()) or 'nothing'
            lines.append(f'{one.id} is {one.label}, and was said to be: {said}')
    return '\n'.join(lines)


if __name__ == '__main__':
    files = [Path(argument) for argument in sys.argv[1:]] or sorted(CURVES.glob('*.jsonl'))
    print(describe([evaluate(row) for row in read_rows(files)]))
