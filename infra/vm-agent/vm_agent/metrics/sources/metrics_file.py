"""The JSON Lines file that the program appends its metrics to: DROPFORGE_METRICS_FILE."""

import os
from pathlib import Path
from typing import Any, Dict, List

from vm_agent.metrics.samples.records import Sample, read_report
from vm_agent.metrics.sources.source import MetricSource
from vm_agent.program.foreign_files import open_regular

READ_BYTES_MAX = 1_048_576
# Longer lines are not metrics, and must not fill the memory.
LINE_BYTES_MAX = 65_536


class MetricsFile(MetricSource):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._inode = 0
        self._partial = b''
        self._is_skipping = False

    def read(self, is_last: bool = False) -> List[Sample]:
        """
        Reads what was written since the last call, at most READ_BYTES_MAX. A missing or unreadable file is read by a
        later call. `is_last`: a line without an end is whole.
        """
        data = self._read_block()
        *lines, partial = (self._partial + data).split(b'\n')
        if lines and self._is_skipping:
            # The end of a line that was too long.
            del lines[0]
            self._is_skipping = False
        if len(partial) > LINE_BYTES_MAX:
            self._is_skipping, partial = True, b''
        self._partial = partial
        if is_last and not self.is_behind and partial and not self._is_skipping:
            lines.append(partial)
            self._partial = b''
        samples: List[Sample] = []
        for line in lines:
            if len(line) <= LINE_BYTES_MAX:
                samples += self._follow(read_report(line))
        return samples

    def _read_block(self) -> bytes:
        try:
            with open_regular(self._path) as file:
                found = os.fstat(file.fileno())
                if found.st_size < self._offset or found.st_ino != self._inode != 0:
                    # The program truncated or replaced the file.
                    self._offset, self._partial, self._is_skipping = 0, b'', False
                self._inode = found.st_ino
                file.seek(self._offset)
                data = file.read(READ_BYTES_MAX)
        except OSError:
            self.is_behind = False
            return b''
        self._offset += len(data)
        self.is_behind = self._offset < found.st_size
        return data

    def to_json(self) -> Dict[str, Any]:
        return {
            'offset': self._offset - len(self._partial),
            'inode': self._inode,
            'isSkipping': self._is_skipping,
            **super().to_json(),
        }

    def restore(self, body: Dict[str, Any]) -> None:
        self._offset, self._inode, self._is_skipping = int(body['offset']), int(body['inode']), bool(body['isSkipping'])
        super().restore(body)
