"""What the program says of its training: a JSON-lines file that it appends to, and hypertune's file."""

import json
import math
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from vm_agent.mask import Mask

READ_BYTES_MAX = 1_048_576
METRIC_COUNT_MAX = 64
NAME_CHARS_MAX = 128
STEP_NAMES = ('step', 'global_step', 'epoch')
STEPS_NAMES = ('steps', 'stepsMax', 'epochs')
# Of a hypertune record, these are no metrics (github.com/GoogleCloudPlatform/cloudml-hypertune, hypertune.py).
HYPERTUNE_FIELDS = ('timestamp', 'trial', 'global_step', 'checkpoint_path')


class ProgressReader:
    def __init__(self, metrics_file: Path, hypertune_file: Path, mask: Optional[Mask] = None) -> None:
        self._mask = mask or Mask()
        self._metrics_file = metrics_file
        self._hypertune_file = hypertune_file
        self._offset = 0
        self._partial = b''
        self._step: Optional[float] = None
        self._steps_max: Optional[float] = None
        self._metrics: Dict[str, float] = {}

    def read(self) -> Dict[str, Any]:
        """The `progress` of a heartbeat: the last value of every metric so far."""
        self._read_hypertune()
        self._read_metrics()
        return {'step': self._step, 'stepsMax': self._steps_max, 'metrics': dict(self._metrics)}

    def _read_metrics(self) -> None:
        try:
            with open(self._metrics_file, 'rb') as file:
                if file.seek(0, 2) < self._offset:
                    # The program began the file anew.
                    self._offset, self._partial = 0, b''
                file.seek(self._offset)
                while data := file.read(READ_BYTES_MAX):
                    self._offset += len(data)
                    *lines, self._partial = (self._partial + data).split(b'\n')
                    # A line that never ends is no metric, and must not fill the memory.
                    self._partial = self._partial[:READ_BYTES_MAX]
                    for line in lines:
                        self._take(parse_record(line))
        except OSError:
            # Not written yet, or not readable now: the next heartbeat looks again.
            return

    def _read_hypertune(self) -> None:
        """The library rewrites the whole file at each report; the last line is the newest."""
        try:
            with open(self._hypertune_file, 'rb') as file:
                lines = file.read(READ_BYTES_MAX).strip().split(b'\n')
        except OSError:
            return
        record = parse_record(lines[-1])
        metrics = {name: value for name, value in record.items() if name not in HYPERTUNE_FIELDS}
        if 'global_step' in record:
            metrics['step'] = record['global_step']
        self._take(metrics)

    def _take(self, record: Mapping[str, float]) -> None:
        step_name = next((name for name in STEP_NAMES if name in record), None)
        steps_name = next((name for name in STEPS_NAMES if name in record), None)
        self._step = self._step if step_name is None else record[step_name]
        self._steps_max = self._steps_max if steps_name is None else record[steps_name]
        for name, value in record.items():
            is_metric = name not in (step_name, steps_name)
            if is_metric and (name in self._metrics or len(self._metrics) < METRIC_COUNT_MAX):
                self._metrics[self._mask(name)[:NAME_CHARS_MAX]] = value


def parse_record(line: bytes) -> Dict[str, float]:
    """The finite numbers of one JSON object, also as strings (hypertune writes them so); empty for anything else."""
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
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return value if isinstance(value, int) else number
