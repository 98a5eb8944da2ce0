"""A run of MLflow: what the program says about one training."""

import math
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Mapping, Optional

from vm_agent.metrics.records import to_json_value
from vm_agent.tracking.error import invalid

RUN_ID = re.compile(r'[a-z0-9]{32}')
PARENT_TAG = 'mlflow.parentRunId'
NAME_TAG = 'mlflow.runName'
STATUSES = ('RUNNING', 'SCHEDULED', 'FINISHED', 'FAILED', 'KILLED')
# MLflow's own limits (mlflow/utils/validation.py); the name of a metric in a series is shorter.
KEY_CHARS_MAX = 250
VALUE_CHARS_MAX = 8_000
# Of one run.
METRIC_COUNT_MAX = 1_000
PARAM_COUNT_MAX = 2_000
TAG_COUNT_MAX = 500
# Of one metric: what `get_metric_history` answers to the program. The series has all points.
HISTORY_COUNT_MAX = 1_000
INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Metric:
    key: str
    value: float
    """May be NaN or infinite."""
    timestamp_ms: int
    step: int

    def to_json(self) -> Dict[str, Any]:
        return {'key': self.key, 'value': to_json_value(self.value), 'timestamp': self.timestamp_ms, 'step': self.step}


@dataclass
class Run:
    run_id: str
    experiment_id: str
    name: str
    user: str
    start_time_ms: int
    prefix: str
    """Of its metrics in the job's series; empty for the main run."""
    status: str = 'RUNNING'
    end_time_ms: Optional[int] = None
    is_deleted: bool = False
    params: Dict[str, str] = field(default_factory=dict)
    tags: Dict[str, str] = field(default_factory=dict)
    metrics: Dict[str, Metric] = field(default_factory=dict)
    """The last value of each."""
    history: Dict[str, Deque[Metric]] = field(default_factory=dict)
    inputs: List[Any] = field(default_factory=list)
    model_outputs: List[Any] = field(default_factory=list)

    def set_metric(self, metric: Metric) -> bool:
        """Returns False if the run has too many metrics for another one."""
        last = self.metrics.get(metric.key)
        if last is None and len(self.metrics) >= METRIC_COUNT_MAX:
            return False
        # As MLflow: the latest step counts, then the latest time.
        if last is None or (metric.step, metric.timestamp_ms) >= (last.step, last.timestamp_ms):
            self.metrics[metric.key] = metric
        self.history.setdefault(metric.key, deque(maxlen=HISTORY_COUNT_MAX)).append(metric)
        return True

    def set_param(self, key: str, value: str) -> bool:
        """Returns False if the run has too many."""
        return _set(self.params, (key, value), PARAM_COUNT_MAX)

    def set_tag(self, key: str, value: str) -> bool:
        """Returns False if the run has too many."""
        if key == NAME_TAG:
            self.name = value
        return _set(self.tags, (key, value), TAG_COUNT_MAX)

    def info(self) -> Dict[str, Any]:
        """Returns the message RunInfo."""
        ended = {} if self.end_time_ms is None else {'end_time': self.end_time_ms}
        return {
            'run_id': self.run_id,
            'run_uuid': self.run_id,
            'run_name': self.name,
            'experiment_id': self.experiment_id,
            'user_id': self.user,
            'status': self.status,
            'start_time': self.start_time_ms,
            **ended,
            'artifact_uri': f'mlflow-artifacts:/{self.run_id}',
            'lifecycle_stage': 'deleted' if self.is_deleted else 'active',
        }

    def to_json(self) -> Dict[str, Any]:
        """Returns the message Run."""
        return {
            'info': self.info(),
            'data': {
                'metrics': [metric.to_json() for metric in self.metrics.values()],
                'params': to_pairs(self.params),
                'tags': to_pairs(self.tags),
            },
            'inputs': {'dataset_inputs': self.inputs},
            'outputs': {'model_outputs': self.model_outputs},
        }


def _set(values: Dict[str, str], pair: 'tuple[str, str]', count_max: int) -> bool:
    key, value = pair
    if key not in values and len(values) >= count_max:
        return False
    values[key] = value
    return True


def to_pairs(values: Mapping[str, str]) -> List[Dict[str, str]]:
    return [{'key': key, 'value': value} for key, value in values.items()]


def read_metric(body: Mapping[str, Any], now_ms: int) -> Metric:
    """Reads the message Metric, or the fields of LogMetric. Raises TrackingError."""
    key = read_key(body)
    try:
        value = float(body['value'])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise invalid(f'The value of metric {key} is not a number.') from None
    return Metric(key, value, read_int(body, 'timestamp', now_ms), read_int(body, 'step', 0))


def read_key(body: Mapping[str, Any]) -> str:
    key = body.get('key') if isinstance(body, dict) else None
    if not isinstance(key, str) or not key:
        raise invalid('A metric, parameter or tag needs a key, which is a text.')
    if len(key) > KEY_CHARS_MAX:
        raise invalid(f'The key {key[:40]}… has {len(key)} characters; the most is {KEY_CHARS_MAX}.')
    return key


def read_pair(body: Mapping[str, Any]) -> 'tuple[str, str]':
    """Reads key and value of a parameter or tag; a longer value is cut off, which loses less than an error."""
    return read_key(body), str(body.get('value', ''))[:VALUE_CHARS_MAX]


def read_int(body: Mapping[str, Any], name: str, default: int) -> int:
    """Reads an int64, which JSON may hold as text. Raises TrackingError."""
    value = body.get(name)
    if value is None or value == '':
        return default
    try:
        number = float(value)
        if not math.isfinite(number):
            raise ValueError
        # Steps beyond 2^53 would be rounded by float.
        whole = int(value) if isinstance(value, (int, str)) and str(value).lstrip('-').isdigit() else int(number)
    except (TypeError, ValueError, OverflowError):
        raise invalid(f'{name} is not an integer.') from None
    return max(-INT64_MAX, min(INT64_MAX, whole))
