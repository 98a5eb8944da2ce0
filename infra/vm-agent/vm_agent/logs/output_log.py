"""
The program's output on its way to the log service: whole on the disk, and as lines within the limits of its stream.

Folded: printed faster than the stream's allowance or than the log service accepts, so counted instead of shipped.
"""

import threading
from typing import Dict, List

from vm_agent.logs.fold import Fold, Folded, FoldLimits
from vm_agent.logs.full_log import FullLog
from vm_agent.logs.log_shipper import LogShipper
from vm_agent.logs.output_lines import LineSplitter


class _Channel:
    """One stream."""

    def __init__(self, limits: FoldLimits) -> None:
        self.fold = Fold(limits)
        self.splitter = LineSplitter()
        self.is_limit_reported = False


class OutputLog:
    def __init__(self, shipper: LogShipper, full_log: FullLog, limits: FoldLimits, full_log_uri: str) -> None:
        """`full_log_uri` is where the complete log can be read."""
        self._shipper = shipper
        self._full_log = full_log
        self._limits = limits
        self._full_log_uri = full_log_uri
        self._channels: Dict[str, _Channel] = {}
        self._lock = threading.Lock()

    def add(self, stream: str, block: bytes) -> None:
        """Adds masked output. Its cost is bounded by the bytes, and by the lines that may be shipped; never blocks."""
        self._full_log.write(stream, block)
        with self._lock:
            channel = self._channels.setdefault(stream, _Channel(self._limits))
            self._close_fold(stream, channel, is_last=False)
            shipped = channel.fold.take(block, self._shipper.has_room())
            lines = list(channel.splitter.feed(shipped))
            if channel.fold.is_open:
                self._full_log.want()
                lines += channel.splitter.finish()
            self._shipper.add_output(stream, lines)
            self._report_limit(stream, channel)

    def flush(self) -> None:
        """Ends the folding of streams whose allowance has refilled, so that a quiet stream shows its last lines."""
        with self._lock:
            for stream, channel in self._channels.items():
                self._close_fold(stream, channel, is_last=False)

    def finish(self) -> None:
        """Ships what is left at the end of the streams."""
        with self._lock:
            for stream, channel in self._channels.items():
                self._shipper.add_output(stream, list(channel.splitter.finish()))
                self._close_fold(stream, channel, is_last=True)
        self._full_log.finish()

    def _close_fold(self, stream: str, channel: _Channel, is_last: bool) -> None:
        if channel.fold.is_open and (is_last or self._shipper.has_room(0.5)):
            folded = channel.fold.close(is_last)
            if folded is not None:
                self._report_fold(stream, folded)

    def _report_fold(self, stream: str, folded: Folded) -> None:
        last: List[str] = list(folded.last)
        if folded.line_count > 0:
            self._shipper.log(
                f'{folded.line_count} lines ({folded.size_bytes} bytes) of {stream} are folded: they were printed '
                f'faster than logs are shipped. All of them are in {self._full_log_uri}.',
                'WARNING',
            )
        self._shipper.add_output(stream, last)

    def _report_limit(self, stream: str, channel: _Channel) -> None:
        if channel.fold.is_exhausted and not channel.is_limit_reported:
            channel.is_limit_reported = True
            self._shipper.log(
                f'The log of {stream} has reached its limit of {self._limits.bytes_max} bytes. '
                f'All further lines are in {self._full_log_uri}, and its last ones here at the end.',
                'WARNING',
            )
