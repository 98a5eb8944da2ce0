"""NON_FINITE: a reported metric, or a loss in the log, is NaN or infinite."""

import math
from collections import deque
from typing import Deque, Dict, List, Optional

from vm_agent.health.finding import Finding
from vm_agent.health.loss_log import contains_finite, find_not_finite, has_finite
from vm_agent.health.loss_names import is_loss

# A loss that is not finite in this many reports in a row does not recover.
IN_ROW_MAX = 3
# The finding is over after this many finite reports.
FINITE_IN_ROW_MIN = 3
NAMES_MAX = 64
# A progress bar shows one value many times: its states count once in this time.
LOG_REPORT_SECONDS = 1.0
LOG_SOURCE = '\0log'


class _Series:
    def __init__(self) -> None:
        self.in_row = 0
        self.finite_in_row = 0
        self.is_loss = False


class NonFiniteDetector:
    """
    Not thread-safe. A metric that is not a loss gives a finding only; a loss is `is_decisive` after IN_ROW_MAX reports in
    a row of one source.
    """

    def __init__(self) -> None:
        self._series: Dict[str, _Series] = {}
        self._evidence: Deque[str] = deque(maxlen=5)
        self._first = ''
        self._name = ''
        self._loss_since: Optional[float] = None
        self._since: Optional[float] = None
        self._until: Optional[float] = None
        self._logged_at = -math.inf
        self.has_seen_finite = False
        """Whether a loss was finite before: if not, what the program restored may be at fault already."""

    @property
    def is_decisive(self) -> bool:
        return any(series.is_loss and series.in_row >= IN_ROW_MAX for series in self._series.values())

    @property
    def loss_since(self) -> Optional[float]:
        """When the loss was not finite for the first time, since it was finite last; None if it is."""
        return self._loss_since

    def add_sample(self, name: str, value: float, step: Optional[float], at: float) -> None:
        if math.isfinite(value):
            if not self.has_seen_finite and is_loss(name):
                self.has_seen_finite = True
            if name in self._series:
                self._add_finite(name, at)
            return
        text = 'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'
        line = f'{name} = {text}' + ('' if step is None else f' at step {step:g}')
        self._add_not_finite(name, is_loss(name), line, at)

    def add_output(self, block: bytes, at: float) -> None:
        reports = find_not_finite(block)
        if not self.has_seen_finite and self._loss_since is None:
            self.has_seen_finite = contains_finite(block)
        if not reports:
            if LOG_SOURCE in self._series and has_finite(block):
                self._add_finite(LOG_SOURCE, at)
            return
        for report in reports:
            if not report.is_state or at - self._logged_at >= LOG_REPORT_SECONDS:
                self._logged_at = at
                self._add_not_finite(LOG_SOURCE, True, report.line, at)

    def findings(self) -> List[Finding]:
        if self._since is None:
            return []
        row = max((series.in_row for series in self._series.values()), default=0)
        count = f', in {row} reports in a row' if row > 1 and self._until is None else ''
        return [
            Finding(
                code='NON_FINITE',
                message=f'{self._first}{count}.',
                remedy=(
                    'Lower the learning rate, clip the norm of gradients, and check the input for NaN, zeros in '
                    'divisions and logarithms, and values beyond the range of float16 (use bfloat16 or a loss scale). '
                    'Checkpoints from before the first such report are good; later ones may not be.'
                ),
                since=self._since,
                until=self._until,
                evidence=tuple(self._evidence),
            )
        ]

    def _add_not_finite(self, name: str, is_loss_like: bool, line: str, at: float) -> None:
        series = self._series.get(name)
        if series is None:
            if len(self._series) >= NAMES_MAX and not is_loss_like:
                return
            if len(self._series) >= 2 * NAMES_MAX:
                return
            series = self._series[name] = _Series()
        series.is_loss = is_loss_like
        series.in_row += 1
        series.finite_in_row = 0
        if is_loss_like and self._loss_since is None:
            self._loss_since = at
        if self._since is None or self._until is not None:
            self._since, self._until = at, None
            shown = 'A loss in the log was not finite' if name == LOG_SOURCE else f'The metric {line}'
            self._first = shown
            self._evidence.clear()
        if len(self._evidence) < 3 or series.in_row <= IN_ROW_MAX:
            self._evidence.append(line)

    def _add_finite(self, name: str, at: float) -> None:
        series = self._series[name]
        series.finite_in_row += 1
        # One finite value ends the row: only a loss that stays so is decisive.
        series.in_row = 0
        if series.finite_in_row >= FINITE_IN_ROW_MIN:
            del self._series[name]
        if not any(one.is_loss for one in self._series.values()):
            self._loss_since = None
        if not self._series and self._until is None:
            self._until = at
