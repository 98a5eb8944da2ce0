"""The program's training progress, from the JSON Lines file that it appends to and from hypertune's file."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from vm_agent.logs.mask import Mask

READ_BYTES_MAX = 1_048_576
METRIC_COUNT_MAX = 64
NAME_CHARS_MAX = 128
STEP_NAMES = ('step', 'global_step', 'epoch')
STEPS_NAMES = ('steps', 'stepsMax', 'epochs')
# Fields of a hypertune record that are not metrics (github.com/GoogleCloudPlatform/cloudml-hypertune, hypertune.py).
HYPERTUNE_FIELDS = ('timestamp', 'trial', 'global_step', 'checkpoint_path')


@dataclass(frozen=True)
class NonFinite:
    """A value that JSON cannot hold as a number."""

    value: str
    """`NaN`, `Infinity` or `-Infinity`."""
    step: Optional[float]


@dataclass(frozen=True)
class Progress:
    """The `progress` of a heartbeat."""

    step: Optional[float] = None
    steps_max: Optional[float] = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The last value of every metric, if that is finite."""
    non_finite: Mapping[str, NonFinite] = field(default_factory=dict)
    """The first value of every metric that was not finite."""

    def to_json(self) -> Dict[str, Any]:
        body = {'step': self.step, 'stepsMax': self.steps_max, 'metrics': dict(self.metrics)}
        non_finite = {name: {'value': first.value, 'step': first.step} for name, first in self.non_finite.items()}
        return {**body, 'nonFinite': non_finite} if non_finite else body


class ProgressReader:
    def __init__(self, metrics_file: Path, hypertune_file: Path, mask: Optional[Mask] = None) -> None:
        """`mask` is applied to the names of metrics."""
        self._mask = mask or Mask()
        self._metrics_file = metrics_file
        self._hypertune_file = hypertune_file
        self._offset = 0
        self._partial = b''
        self._step: Optional[float] = None
        self._steps_max: Optional[float] = None
        self._metrics: Dict[str, float] = {}
        self._non_finite: Dict[str, NonFinite] = {}

    def read(self) -> Progress:
        """Reads what was written since the last call. A missing or unreadable file is read by a later call."""
        self._read_hypertune()
        self._read_metrics()
        return Progress(self._step, self._steps_max, dict(self._metrics), dict(self._non_finite))

    def _read_metrics(self) -> None:
        try:
            with open(self._metrics_file, 'rb') as file:
                if file.seek(0, 2) < self._offset:
                    # The program truncated the file.
                    self._offset, self._partial = 0, b''
                file.seek(self._offset)
                while data := file.read(READ_BYTES_MAX):
                    self._offset += len(data)
                    *lines, self._partial = (self._partial + data).split(b'\n')
                    # A line without an end is not a metric, and must not fill the memory.
                    self._partial = self._partial[:READ_BYTES_MAX]
                    for line in lines:
                        self._update(parse_record(line))
        except OSError:
            return

    def _read_hypertune(self) -> None:
        """The library rewrites the whole file at each report; its last line is the newest."""
        try:
            with open(self._hypertune_file, 'rb') as file:
                lines = file.read(READ_BYTES_MAX).strip().split(b'\n')
        except OSError:
            return
        record = parse_record(lines[-1])
        metrics = {name: value for name, value in record.items() if name not in HYPERTUNE_FIELDS}
        if 'global_step' in record:
            metrics['step'] = record['global_step']
        self._update(metrics)

    def _update(self, record: Mapping[str, float]) -> None:
        step_name = next((name for name in STEP_NAMES if name in record), None)
        steps_name = next((name for name in STEPS_NAMES if name in record), None)
        self._step = self._step if step_name is None else _finite(record[step_name], self._step)
        self._steps_max = self._steps_max if steps_name is None else _finite(record[steps_name], self._steps_max)
        for name, value in record.items():
            if name not in (step_name, steps_name):
                self._update_metric(self._mask(name)[:NAME_CHARS_MAX], value)

    def _update_metric(self, name: str, value: float) -> None:
        is_known = name in self._metrics or name in self._non_finite
        if not is_known and len({*self._metrics, *self._non_finite}) >= METRIC_COUNT_MAX:
            return
        if math.isfinite(value):
            self._metrics[name] = value
        else:
            self._metrics.pop(name, None)
            self._non_finite.setdefault(name, NonFinite(_to_text(value), self._step))


def parse_record(line: bytes) -> Dict[str, float]:
    """
    Returns the numbers of one JSON object, NaN and infinite ones too; empty if the line is anything else. Numbers in
    strings count: hypertune writes them so.
    """
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(body, dict):
        return {}
    numbers = ((str(name), _to_number(value)) for name, value in body.items())
    return {name: number for name, number in numbers if number is not None}


def _to_number(value: object) -> Optional[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    except OverflowError:
        return math.inf if isinstance(value, int) and value > 0 else -math.inf
    return value if isinstance(value, int) else number


def _finite(value: float, default: Optional[float]) -> Optional[float]:
    return value if math.isfinite(value) else default


def _to_text(value: float) -> str:
    return 'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'
