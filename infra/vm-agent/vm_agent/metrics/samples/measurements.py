"""
The history of a trial's metrics on its way to the control plane: the `measurements` of a heartbeat
(shared/protocol/heartbeat.ts). They are repeated until a heartbeat is answered.
"""

import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Sequence, Set, Tuple, Union

from vm_agent.metrics.samples.records import to_json_value

# The number in one heartbeat. The control plane keeps 100 for a trial.
COUNT_MAX = 50
BYTES_MAX = 8_192
# The measurements that wait for an answer are thinned out to COUNT_MAX when it exceeds this.
WAITING_COUNT_MAX = 200
METRIC_NAME_CHARS_MAX = 128


@dataclass(frozen=True)
class Measurement:
    """The study's metrics at one step."""

    step: float
    elapsed_ms: int
    """Running time of the program in this attempt."""
    values: Mapping[str, Union[float, str]]
    """NaN and infinite values as text."""

    def to_json(self) -> Dict[str, Any]:
        return {'step': self.step, 'elapsedMs': self.elapsed_ms, 'values': dict(self.values)}


class Measurements:
    """Not thread-safe."""

    def __init__(self, metric_ids: Sequence[str]) -> None:
        self.metric_ids = {name for name in metric_ids if len(name) <= METRIC_NAME_CHARS_MAX}
        self._waiting: Dict[float, Measurement] = {}

    def add(self, name: str, value: float, at: Tuple[float, int]) -> None:
        """Adds a value of one of the study's metrics; `at` is step and running time. Other metrics are ignored."""
        step, elapsed_ms = at
        if name not in self.metric_ids:
            return
        before = self._waiting.get(step)
        values = {**({} if before is None else before.values), name: to_json_value(value)}
        self._waiting[step] = Measurement(step, elapsed_ms, values)
        if len(self._waiting) > WAITING_COUNT_MAX:
            self._thin_out(lambda: len(self._waiting) <= COUNT_MAX)

    def batch(self) -> Tuple[Measurement, ...]:
        """Returns all that wait, by increasing step, thinned out to what one heartbeat may have."""
        self._thin_out(lambda: len(self._waiting) <= COUNT_MAX and self._size_bytes() <= BYTES_MAX)
        return tuple(sorted(self._waiting.values(), key=lambda one: one.step))

    def remove(self, batch: Sequence[Measurement]) -> None:
        """Removes what a heartbeat that was answered had, unless it has changed since."""
        for measurement in batch:
            if self._waiting.get(measurement.step) == measurement:
                del self._waiting[measurement.step]

    def _size_bytes(self) -> int:
        return len(json.dumps([one.to_json() for one in self._waiting.values()]))

    def _thin_out(self, is_enough: Callable[[], bool]) -> None:
        """Drops every other one, but not the last one, nor the lowest and the highest of a metric while possible."""
        kept = self._extremes()
        while not is_enough() and len(self._waiting) > 1:
            steps = sorted(self._waiting)
            left = [
                step
                for index, step in enumerate(steps)
                if index % 2 == 0 or index == len(steps) - 1 or step in kept
            ]
            if len(left) == len(steps):
                if not kept:
                    return
                kept = set()
            self._waiting = {step: self._waiting[step] for step in left}

    def _extremes(self) -> Set[float]:
        steps: Set[float] = set()
        for name in self.metric_ids:
            numbers = [
                (value, one.step)
                for one in self._waiting.values()
                for value in [one.values.get(name)]
                if isinstance(value, (int, float))
            ]
            if numbers:
                steps.update((min(numbers)[1], max(numbers)[1]))
        return steps

    def to_json(self) -> List[Dict[str, Any]]:
        return [one.to_json() for one in self._waiting.values()]

    def restore(self, body: Sequence[Mapping[str, Any]]) -> None:
        self._waiting = {
            float(one['step']): Measurement(float(one['step']), int(one['elapsedMs']), dict(one['values']))
            for one in body
        }
