"""NON_FINITE: a reported metric, or a loss in the log, is NaN or infinite, and stays so."""

import math
from collections import deque
from typing import Deque, Dict, List, Optional, Set

from vm_agent.health.finding import Finding
from vm_agent.metrics.samples.metric_names import LOG_PREFIX, is_loss
from vm_agent.metrics.samples.records import to_json_value

# In a row. Fewer may be a batch that is skipped, or the first steps of mixed precision.
FINDING_REPORTS_MIN = 3
# Before the first finite loss: mixed precision finds its scale.
FIRST_REPORTS_MIN = 10
# A loss that is not finite in this many reports and for this long does not recover.
DECISIVE_REPORTS_MIN = 10
DECISIVE_SECONDS_MIN = 5.0
# Some programs report NaN until they have something to average: the first episode, or a full replay buffer.
DECISIVE_FIRST_SECONDS_MIN = 120.0
# Programs that report once an epoch are not to train for ten of them.
DECISIVE_SLOW_REPORTS_MIN = 3
DECISIVE_SLOW_SECONDS_MIN = 900.0
# The finding is over after this many finite reports.
FINITE_IN_ROW_MIN = 3
NAMES_MAX = 128
FINITE_NAMES_MAX = 1_000


class _Row:
    """Reports of one metric in a row that were not finite."""

    def __init__(self, name: str, at: float) -> None:
        self.name = name
        self.is_loss = is_loss(name)
        self.count = 0
        self.finite_count = 0
        self.since = self.last_at = at
        self.lost_count = 0
        self.lost_since = at
        """Since the last finite report of any loss."""
        self.evidence: Deque[str] = deque(maxlen=5)

    def add(self, line: str, at: float, finite_at: float) -> None:
        if self.count == 0:
            self.since = at
            self.evidence.clear()
        if self.lost_count == 0 or finite_at >= self.lost_since:
            self.lost_count, self.lost_since = 0, at
        self.lost_count += 1
        self.count += 1
        self.finite_count = 0
        self.last_at = at
        if self.count <= FINDING_REPORTS_MIN or len(self.evidence) < 3:
            self.evidence.append(line)


class NonFiniteDetector:
    """Not thread-safe. A metric that is not a loss gives a finding only, if it was finite before."""

    def __init__(self) -> None:
        self._rows: Dict[str, _Row] = {}
        self._finite: Set[str] = set()
        self._finite_at = -math.inf
        self._shown: Optional[_Row] = None
        self._until: Optional[float] = None

    @property
    def has_seen_finite(self) -> bool:
        """Whether a loss was finite before: if not, what the program restored may be at fault already."""
        return self._finite_at > -math.inf

    @property
    def is_decisive(self) -> bool:
        return any(self._is_lost(row) for row in self._rows.values())

    @property
    def loss_since(self) -> Optional[float]:
        """When a loss was not finite for the first time since any was; None if all are."""
        lost = (row for row in self._rows.values() if row.is_loss and row.count and row.lost_since > self._finite_at)
        return min((row.lost_since for row in lost), default=None)

    def add_sample(self, name: str, value: float, step: Optional[float], at: float) -> None:
        if math.isfinite(value):
            self._add_finite(name, at)
            return
        row = self._rows.get(name)
        if row is None:
            row = _Row(name, at)
            is_known = name in self._finite and not name.startswith(LOG_PREFIX)
            if len(self._rows) >= NAMES_MAX or not (row.is_loss or is_known):
                return
            self._rows[name] = row
        row.add(f'{name} = {to_json_value(value)}' + ('' if step is None else f' at step {step:g}'), at, self._finite_at)
        count_min = FIRST_REPORTS_MIN if row.is_loss and not self.has_seen_finite else FINDING_REPORTS_MIN
        if row.count >= count_min and (self._shown is None or self._until is not None):
            self._shown, self._until = row, None

    def finish(self) -> None:
        """The program has ended: a loss that is not finite now is the last that is known of it."""
        if self._shown is None or self._until is not None:
            last = next((row for row in self._rows.values() if row.is_loss and row.count), None)
            if last is not None and (last.count > 1 or self._finite_at < last.since):
                self._shown, self._until = last, None

    def findings(self) -> List[Finding]:
        row = next((one for one in self._rows.values() if self._is_lost(one)), self._shown)
        if row is None or not row.evidence:
            return []
        count = f', in {row.count} reports in a row' if row.count > 1 and self._until is None else ''
        return [
            Finding(
                code='NON_FINITE',
                message=f'The metric {row.evidence[0]}{count}.',
                remedy=(
                    'Lower the learning rate, clip the norm of gradients, and check the input for NaN, zeros in '
                    'divisions and logarithms, and values beyond the range of float16 (use bfloat16 or a loss scale). '
                    'Checkpoints from before the first such report are good; later ones may not be.'
                ),
                since=row.since,
                until=self._until,
                evidence=tuple(row.evidence),
            )
        ]

    def _is_lost(self, row: _Row) -> bool:
        """Whether neither this loss nor another one was finite for so long that none will be again."""
        if not row.is_loss or row.count == 0 or self._finite_at >= row.lost_since:
            return False
        seconds = row.last_at - row.lost_since
        if row.lost_count >= DECISIVE_SLOW_REPORTS_MIN and seconds >= DECISIVE_SLOW_SECONDS_MIN:
            return True
        seconds_min = DECISIVE_SECONDS_MIN if self.has_seen_finite else DECISIVE_FIRST_SECONDS_MIN
        return row.lost_count >= DECISIVE_REPORTS_MIN and seconds >= seconds_min

    def _add_finite(self, name: str, at: float) -> None:
        if len(self._finite) < FINITE_NAMES_MAX:
            self._finite.add(name)
        if is_loss(name):
            self._finite_at = at
        row = self._rows.get(name)
        if row is None:
            return
        row.count = 0
        row.finite_count += 1
        if row.finite_count >= FINITE_IN_ROW_MIN:
            del self._rows[name]
            if self._shown is row and self._until is None:
                self._until = at
