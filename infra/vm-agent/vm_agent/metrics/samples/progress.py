"""The last values of all metrics: the `progress` of a heartbeat (shared/protocol/heartbeat.ts)."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional

from vm_agent.metrics.samples.records import to_json_value

METRIC_COUNT_MAX = 64
NAME_CHARS_MAX = 128
# The size as JSON: a heartbeat has 64 KiB for everything.
NAMES_BYTES_MAX = 8_192


@dataclass(frozen=True)
class NonFinite:
    """A value that JSON cannot hold as a number."""

    value: str
    """`NaN`, `Infinity` or `-Infinity`."""
    step: Optional[float]


@dataclass(frozen=True)
class Progress:
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


class LastValues:
    def __init__(self) -> None:
        self.metrics: Dict[str, float] = {}
        self.non_finite: Dict[str, NonFinite] = {}
        self._names_bytes = 0

    def add(self, name: str, value: float, step: Optional[float]) -> None:
        """A metric beyond the limits is ignored."""
        name = name[:NAME_CHARS_MAX]
        if name not in self.metrics and name not in self.non_finite:
            names_bytes = self._names_bytes + len(json.dumps(name))
            is_full = len({*self.metrics, *self.non_finite}) >= METRIC_COUNT_MAX or names_bytes > NAMES_BYTES_MAX
            if is_full:
                return
            self._names_bytes = names_bytes
        if math.isfinite(value):
            self.metrics[name] = value
        else:
            self.metrics.pop(name, None)
            self.non_finite.setdefault(name, NonFinite(str(to_json_value(value)), step))

    def to_json(self) -> Dict[str, Any]:
        non_finite = {name: [first.value, first.step] for name, first in self.non_finite.items()}
        return {'metrics': self.metrics, 'nonFinite': non_finite}

    def restore(self, body: Dict[str, Any]) -> None:
        self.metrics = dict(body['metrics'])
        self.non_finite = {name: NonFinite(str(value), step) for name, (value, step) in body['nonFinite'].items()}
        self._names_bytes = sum(len(json.dumps(name)) for name in {*self.metrics, *self.non_finite})
