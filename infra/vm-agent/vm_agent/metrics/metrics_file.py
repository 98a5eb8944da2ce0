"""The JSON Lines file that the program appends its metrics to: DROPFORGE_METRICS_FILE."""

from pathlib import Path
from typing import Any, Dict, List, Optional

from vm_agent.metrics.records import Sample, read_report

READ_BYTES_MAX = 1_048_576


class MetricsFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._partial = b''
        self.step: Optional[float] = None
        self.steps_max: Optional[float] = None

    def read(self, is_last: bool = False) -> List[Sample]:
        """Reads what was written since the last call. A missing or unreadable file is read by a later call."""
        samples: List[Sample] = []
        try:
            with open(self._path, 'rb') as file:
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
                        samples += self._samples_of(line)
        except OSError:
            pass
        return samples

    def _samples_of(self, line: bytes) -> List[Sample]:
        report = read_report(line)
        self.step = self.step if report.step is None else report.step
        self.steps_max = self.steps_max if report.steps_max is None else report.steps_max
        return [Sample(name, value, self.step) for name, value in report.metrics.items()]

    def to_json(self) -> Dict[str, Any]:
        return {'offset': self._offset - len(self._partial), 'step': self.step, 'stepsMax': self.steps_max}

    def restore(self, body: Dict[str, Any]) -> None:
        self._offset, self.step, self.steps_max = int(body['offset']), body['step'], body['stepsMax']
