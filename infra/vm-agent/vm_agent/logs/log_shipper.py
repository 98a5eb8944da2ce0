"""Delivers log lines to Cloud Logging in batches, retried until accepted, in bounded memory; never blocks a writer."""

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Callable, Deque, Iterator, List, Sequence

from vm_agent.http.retry import TransientError, backoff_delays
from vm_agent.logs.cloud_logging import BatchRejected, EntriesRejected
from vm_agent.logs.log_entries import SEVERITY_OF_STREAM, LogLine
from vm_agent.logs.mask import Mask
from vm_agent.logs.serial_console import write_to_console

BATCH_BYTES_MAX = 1_048_576
BATCH_ENTRIES_MAX = 500
QUEUE_BYTES_MAX = 8_388_608
# Rejected parts of one batch: bisection finds one bad entry of 500 in ten; if all parts are rejected, the cause is not
# single entries.
REJECTIONS_MAX = 64
# While closing: a pause that grew during an outage would exceed what is left of `seconds_max`, and end the delivery.
CLOSING_DELAY_SECONDS_MAX = 1.0


@dataclass(frozen=True)
class LogSettings:
    id_prefix: str
    """Prefix of each insertId, from instance and boot."""
    flush_seconds: float
    mask: Mask = field(default_factory=Mask)
    """Applied to the agent's own lines; the program's are already masked."""
    delays: Callable[[], Iterator[float]] = backoff_delays
    """Seconds to wait between tries."""


class LogShipper:
    def __init__(self, settings: LogSettings, send: Callable[[Sequence[LogLine]], None]) -> None:
        """`send` delivers one batch; it raises TransientError, EntriesRejected or BatchRejected."""
        self._settings = settings
        self._send = send
        self._queue: Deque[LogLine] = deque()
        self._queued_bytes = self._sequence = 0
        self._is_closing = False
        self.on_flush: Callable[[], None] = lambda: None
        """Called at every flush, before it, from the shipper's thread."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called when lines of the program were lost."""
        self._give_up_at = float('inf')
        self._flush_seconds_max = 0.0
        self._is_unreachable: Callable[[], bool] = lambda: False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name='log-shipper', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def has_room(self, fraction: float = 1.0) -> bool:
        """Whether less than this fraction of the queue is in use."""
        return self._queued_bytes < fraction * QUEUE_BYTES_MAX

    def add_output(self, stream: str, lines: Sequence[str]) -> None:
        """Queues lines of the program, which `has_room` allows; never blocks."""
        if lines:
            with self._changed:
                for text in lines:
                    self._append(stream, text, SEVERITY_OF_STREAM[stream])

    def log(self, text: str, severity: str = 'INFO') -> None:
        """Queues a line of the agent, and writes it to the serial console."""
        text = self._settings.mask(text)
        write_to_console(text)
        with self._changed:
            self._append('agent', text, severity)

    def close(self, seconds_max: float, is_unreachable: Callable[[], bool] = lambda: False) -> None:
        """
        Delivers the queued lines; gives up after `seconds_max`. The time does not count while the control plane is
        unreachable: the exit report cannot be delivered either, and the last lines matter as much. `is_unreachable`
        must eventually return False.
        """
        with self._changed:
            self._is_unreachable = is_unreachable
            self._flush_seconds_max = seconds_max
            self._is_closing = True
            self._give_up_at = time.monotonic() + seconds_max
            self._changed.notify_all()
        self._thread.join(seconds_max + 1)
        while self._thread.is_alive() and is_unreachable():
            self._thread.join(seconds_max + 1)

    def _append(self, stream: str, text: str, severity: str) -> None:
        self._sequence += 1
        line = LogLine(stream, text, severity, time.time(), f'{self._settings.id_prefix}-{self._sequence:09d}')
        self._queue.append(line)
        self._queued_bytes += line.size_bytes
        if self._queued_bytes > BATCH_BYTES_MAX:
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._is_closing or self._queued_bytes > BATCH_BYTES_MAX, self._settings.flush_seconds
                )
                is_last = self._is_closing
            self.on_flush()
            while batch := self._take_batch():
                if not self._deliver(batch):
                    return
            if is_last:
                return

    def _take_batch(self) -> List[LogLine]:
        """Removes the oldest lines that fit into one request; they count as queued until delivered."""
        with self._changed:
            batch: List[LogLine] = []
            batch_bytes = 0
            while self._queue and len(batch) < BATCH_ENTRIES_MAX:
                batch_bytes += self._queue[0].size_bytes
                if batch and batch_bytes > BATCH_BYTES_MAX:
                    break
                batch.append(self._queue.popleft())
            return batch

    def _deliver(self, batch: Sequence[LogLine]) -> bool:
        """Returns False if time ran out before all lines were delivered."""
        try:
            return self._send_in_parts(batch)
        finally:
            with self._changed:
                self._queued_bytes -= sum(line.size_bytes for line in batch)
                self._changed.notify_all()

    def _send_in_parts(self, batch: Sequence[LogLine]) -> bool:
        parts = [batch]
        rejections: List[BatchRejected] = []
        lost: List[LogLine] = []
        while parts:
            part = parts.pop()
            try:
                if not self._send_with_retry(part):
                    return False
            except BatchRejected as rejection:
                rejections.append(rejection)
                if isinstance(rejection, EntriesRejected) and len(part) > 1 and len(rejections) < REJECTIONS_MAX:
                    middle = len(part) // 2
                    parts += (part[middle:], part[:middle])
                else:
                    lost += part
        if lost:
            self._report_lost(lost, rejections[-1])
        return True

    def _send_with_retry(self, batch: Sequence[LogLine]) -> bool:
        for delay_seconds in self._settings.delays():
            try:
                self._send(batch)
                return True
            except TransientError as error:
                with self._changed:
                    if self._is_closing:
                        delay_seconds = min(delay_seconds, CLOSING_DELAY_SECONDS_MAX)
                    seconds_left = self._give_up_at - time.monotonic()
                    if seconds_left < delay_seconds and self._is_unreachable():
                        self._give_up_at = time.monotonic() + self._flush_seconds_max
                    elif seconds_left < delay_seconds:
                        write_to_console(f'the last log lines were not delivered to Cloud Logging: {error}')
                        self.on_lost()
                        return False
                    self._changed.wait_for(lambda: self._is_closing, delay_seconds)
                if self._is_closing:
                    time.sleep(min(delay_seconds, CLOSING_DELAY_SECONDS_MAX))
        raise AssertionError('delays never end')

    def _report_lost(self, lost: Sequence[LogLine], rejection: BatchRejected) -> None:
        lines = '1 line, which is lost' if len(lost) == 1 else f'{len(lost)} lines, which are lost'
        text = f'Cloud Logging rejected {lines}: {rejection}'
        write_to_console(text)
        if any(line.stream != 'agent' for line in lost):
            self.on_lost()
        # For a lost line of the agent, the report would be lost for the same reason, and reported again.
        if isinstance(rejection, EntriesRejected) and any(line.stream != 'agent' for line in lost):
            with self._changed:
                self._append('agent', text, 'WARNING')
