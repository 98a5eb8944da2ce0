"""Metrics as one JSON object a line, and what the sources of metrics make of them."""

import json
import math
from dataclasses import dataclass
from typing import Dict, Mapping, NamedTuple, Optional, Union

STEP_NAMES = ('step', 'global_step', 'epoch')
STEPS_NAMES = ('steps', 'stepsMax', 'epochs')


class Sample(NamedTuple):
    """One value that the program reported."""

    name: str
    value: float
    """May be NaN or infinite."""
    step: Optional[float]
    """None if the program has reported none: its reports are counted instead."""
    wall_time: Optional[float] = None
    """Seconds since the epoch; None if the report does not say."""
    run: str = ''
    """Tells metrics of one name apart that were written side by side, such as `train` and `validation`."""
    is_shadowed: bool = False
    """Whether the metric of this name that counts is that of another run."""

    @property
    def series(self) -> str:
        return f'{self.run}/{self.name}' if self.run else self.name


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


@dataclass(frozen=True)
class Report:
    """One record: its metrics, and where the training stands. None for what it does not say."""

    metrics: Mapping[str, float]
    step: Optional[float]
    steps_max: Optional[float]


def read_report(line: bytes) -> Report:
    record = parse_record(line)
    step_name = next((name for name in STEP_NAMES if name in record), '')
    steps_name = next((name for name in STEPS_NAMES if name in record), '')
    metrics = {name: value for name, value in record.items() if name not in (step_name, steps_name)}
    return Report(metrics, _finite(record.get(step_name)), _finite(record.get(steps_name)))


def to_json_value(value: float) -> Union[float, str]:
    """Returns the value as JSON can hold it: NaN and infinite ones as text."""
    if math.isfinite(value):
        return value
    return 'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'


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


def _finite(value: Optional[float]) -> Optional[float]:
    return value if value is not None and math.isfinite(value) else None
