"""The parts of a job's metric history: their names, and their lines (shared/protocol/series-part.ts)."""

import json
from dataclasses import dataclass, field
from typing import List, Optional, Union

from vm_agent.metrics.samples.records import to_json_value

METRICS_KIND = 'metrics'
SYSTEM_KIND = 'system'
# JSON readers that have only doubles keep whole numbers up to here.
WHOLE_NUMBER_MAX = 2**53


@dataclass(frozen=True)
class SeriesOrigin:
    """Where points come from: what the names of their parts carry."""

    attempt: int
    replica: str
    """Role and index, such as `master-0`."""
    boot: int

    def part_name(self, number: int, kind: str) -> str:
        return f'attempt-{self.attempt}-{self.replica}-boot-{self.boot:04d}-{number:06d}.{kind}.jsonl.gz'


@dataclass
class Columns:
    """Points of one series, by increasing time."""

    steps: Optional[List[float]]
    """None for system series."""
    times: List[int] = field(default_factory=list)
    """Milliseconds since the epoch."""
    values: List[float] = field(default_factory=list)


def encode_columns(name: str, columns: Columns) -> bytes:
    """Returns one line. Times are relative to the first one's."""
    at = columns.times[0]
    body = {
        'name': name,
        'at': at,
        'times': [time - at for time in columns.times],
        **({} if columns.steps is None else {'steps': [_whole(step) for step in columns.steps]}),
        'values': [_to_value(value) for value in columns.values],
    }
    return json.dumps(body, allow_nan=False, separators=(',', ':')).encode() + b'\n'


def encode_omitted(series_count: int, point_count: int) -> bytes:
    """Returns the line for what is in no part of this boot until now."""
    return f'{{"omitted":{{"series":{series_count},"points":{point_count}}}}}\n'.encode()


def _to_value(value: float) -> Union[float, str]:
    """A number with hundreds of digits becomes the nearest double."""
    return to_json_value(_whole(float(value)))


def _whole(number: float) -> float:
    """Returns a whole number without a fraction: `1`, not `1.0`."""
    is_whole = -WHOLE_NUMBER_MAX < number < WHOLE_NUMBER_MAX and number == int(number)
    return int(number) if is_whole else float(number)
