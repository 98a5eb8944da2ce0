"""Metrics as one JSON object a line, and what the sources of metrics make of them."""

import json
import math
from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Union

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
        # A text is parsed without a search for its encoding.
        body = json.loads(line.decode('utf-8'))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(body, dict):
        return {}
    record = {}
    for name, value in body.items():
        number = value if type(value) is float else _to_number(value)
        if number is not None:
            record[name] = number
    return record


class Report(NamedTuple):
    """One record: its metrics, and where the training stands. None for what it does not say."""

    metrics: Mapping[str, float]
    step: Optional[float]
    steps_max: Optional[float]


def read_report(line: bytes) -> Report:
    record = parse_record(line)
    step = _take_first(record, STEP_NAMES)
    steps_max = _take_first(record, STEPS_NAMES)
    return Report(record, step, steps_max)


def _take_first(record: Dict[str, float], names: Sequence[str]) -> Optional[float]:
    """Removes the first of these names from the record. Returns its number if that is finite."""
    for name in names:
        if name in record:
            return _finite(record.pop(name))
    return None


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
