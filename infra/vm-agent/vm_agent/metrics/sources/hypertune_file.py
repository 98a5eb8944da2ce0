"""
The file of Google's library cloudml-hypertune: CLOUD_ML_HP_METRIC_FILE. At each report, the library writes the whole
file again, with its last 100 reports (github.com/GoogleCloudPlatform/cloudml-hypertune, hypertune.py).
"""

import hashlib
import math
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from vm_agent.metrics.samples.records import Sample, parse_record
from vm_agent.metrics.sources.source import MetricSource
from vm_agent.program.foreign_files import open_below

READ_BYTES_MAX = 1_048_576
# The library keeps 100.
LINE_COUNT_MAX = 500
# More than are read: a file that is found half-written must not make its other lines new again.
SEEN_COUNT_MAX = 2 * LINE_COUNT_MAX
# Fields of a record that are not metrics.
FIELDS = ('timestamp', 'trial', 'global_step', 'checkpoint_path')


class HypertuneFile(MetricSource):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Dict[str, None] = {}
        self._last_steps: Dict[str, Tuple[float, bool]] = {}

    def read(self, is_last: bool = False) -> List[Sample]:
        """
        Returns the reports that no earlier call has seen. The file may be missing, empty or cut at any byte: a line
        that is not yet whole is not valid JSON, and is read by a later call.
        """
        try:
            with open_below(self._path.parent.parent, f'{self._path.parent.name}/{self._path.name}') as file:
                file.seek(max(0, file.seek(0, 2) - READ_BYTES_MAX))
                lines = file.read(READ_BYTES_MAX).split(b'\n')
        except OSError:
            return []
        return [sample for line in lines[-LINE_COUNT_MAX:] for sample in self._samples_of(line)]

    def _samples_of(self, line: bytes) -> List[Sample]:
        record = parse_record(line)
        digest = hashlib.blake2b(line, digest_size=12).hexdigest()
        if not record or digest in self._seen:
            return []
        self._seen[digest] = None
        if len(self._seen) > SEEN_COUNT_MAX:
            del self._seen[next(iter(self._seen))]
        metrics = {name: value for name, value in record.items() if name not in FIELDS}
        return [
            Sample(name, value, self._step_of(name, record.get('global_step')), record.get('timestamp'))
            for name, value in metrics.items()
        ]

    def _step_of(self, name: str, global_step: Optional[float]) -> float:
        """The library writes 0 for a report without a step: such reports are counted, from 0."""
        last, is_counted = self._last_steps.get(name, (-1.0, True))
        if global_step and math.isfinite(global_step):
            step, is_counted = float(global_step), False
        else:
            step = last + 1 if is_counted else last
        self._last_steps[name] = (step, is_counted)
        self.step = step
        return step

    def counts(self) -> Dict[str, int]:
        """Returns how many reports of each metric were counted."""
        return {name: int(step) + 1 for name, (step, is_counted) in self._last_steps.items() if is_counted}

    def continue_counts(self, counts: Mapping[str, int]) -> None:
        self._last_steps.update((name, (count - 1.0, True)) for name, count in counts.items())

    def to_json(self) -> Dict[str, Any]:
        return {'seen': list(self._seen), 'lastSteps': self._last_steps, 'step': self.step}

    def restore(self, body: Dict[str, Any]) -> None:
        self._seen = dict.fromkeys(body['seen'])
        self._last_steps = {name: (float(step), bool(counted)) for name, (step, counted) in body['lastSteps'].items()}
        self.step = body['step']
