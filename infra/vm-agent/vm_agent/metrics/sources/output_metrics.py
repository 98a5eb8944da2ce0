"""Metrics that the program prints: one JSON object a line on stdout."""

import re
from collections import deque
from typing import Deque, List

from vm_agent.metrics.samples.records import Sample, read_report
from vm_agent.metrics.sources.source import MetricSource

LINE_BYTES_MAX = 4_096
LINE_COUNT_MAX = 4_096
# The part that is read of a block of output, which has up to 1 MiB if the program prints fast: its end is looked at,
# its start is not.
BLOCK_BYTES_MAX = 65_536
RECORD = re.compile(rb'^[ \t]*(\{.{1,%d}\})[ \t]*\r?$' % LINE_BYTES_MAX, re.MULTILINE)


class OutputMetrics(MetricSource):
    def __init__(self) -> None:
        self._lines: Deque[bytes] = deque(maxlen=LINE_COUNT_MAX)

    def add(self, block: bytes) -> None:
        """
        Keeps the lines of a block that look like a record; older ones are dropped if there are too many. Called by the
        output's own thread: the cost is bounded by BLOCK_BYTES_MAX, and nothing is parsed.
        """
        if b'{' in block:
            self._lines.extend(RECORD.findall(block[-BLOCK_BYTES_MAX:]))

    def read(self, is_last: bool = False) -> List[Sample]:
        samples: List[Sample] = []
        while self._lines:
            report = read_report(self._lines.popleft())
            samples += self._follow(report) if report.metrics else []
        return samples
