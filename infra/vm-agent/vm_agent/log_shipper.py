"""Sends log lines in sequenced batches, repeated until they are taken, in bounded memory."""

import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Callable, Deque, List, Sequence

from vm_agent.log_entries import SEVERITY_OF_STREAM, LogLine
from vm_agent.mask import Mask
from vm_agent.retry import PassingFault, backoff_delays
from vm_agent.serial_console import show

BATCH_BYTES_MAX = 1_048_576
BATCH_ENTRIES_MAX = 500
QUEUE_BYTES_MAX = 8_388_608
# So long a writer waits for room, once; then lines are dropped and counted until there is room again.
STALL_SECONDS_MAX = 2.0
# Parts of one batch that may be refused: ten lead to one bad entry of 500; where all are, it is not the entries.
REFUSALS_MAX = 64


class LogsRefused(Exception):
    """Cloud Logging does not take this batch, and will not take it later."""


class EntriesRefused(LogsRefused):
    """At least one entry of this batch is at fault; the others would be taken."""


@dataclass(frozen=True)
class LogPolicy:
    id_prefix: str
    """Before the number in each insertId: instance and boot."""
    flush_seconds: float
    program_bytes_max: int
    """Of the program's output; what comes after is counted and dropped."""
    mask: Mask = field(default_factory=Mask)
    """What no line of the agent's own shows; the program's come masked."""


class LogShipper:
    def __init__(self, policy: LogPolicy, send: Callable[[Sequence[LogLine]], None]) -> None:
        """`send` delivers one batch; it raises PassingFault, EntriesRefused or LogsRefused."""
        self._policy = policy
        self._send = send
        self._queue: Deque[LogLine] = deque()
        self._queued_bytes = self._program_bytes = 0
        self._sequence = self._dropped_lines = self._over_limit_lines = 0
        self._is_dropping = self._is_closing = False
        self._give_up_at = float('inf')
        self._flush_seconds_max = 0.0
        self._is_cut_off: Callable[[], bool] = lambda: False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name='log-shipper', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def offer_output(self, stream: str, text: str) -> None:
        """A line of the program. May wait STALL_SECONDS_MAX while the queue is full, never longer."""
        with self._changed:
            self._program_bytes += len(text) + 1
            if self._program_bytes > self._policy.program_bytes_max:
                if self._over_limit_lines == 0:
                    self._append(
                        'agent', f'Output beyond {self._policy.program_bytes_max} bytes is not logged.', 'WARNING'
                    )
                self._over_limit_lines += 1
                return
            if self._has_room():
                self._append(stream, text, SEVERITY_OF_STREAM[stream])
            else:
                self._dropped_lines += 1

    def say(self, text: str, severity: str = 'INFO') -> None:
        """A line of the agent's own, also to its stderr (the serial console)."""
        text = self._policy.mask(text)
        show(text)
        with self._changed:
            self._append('agent', text, severity)

    def close(self, seconds_max: float, is_cut_off: Callable[[], bool] = lambda: False) -> None:
        """
        Sends what is left, for at most so many seconds. While the VM is cut off from everything the time does not
        count: the job's end cannot be told either, and its last lines are worth as much. `is_cut_off` must become
        false in the end.
        """
        with self._changed:
            self._is_cut_off = is_cut_off
            self._flush_seconds_max = seconds_max
            if self._over_limit_lines:
                self._append('agent', f'{self._over_limit_lines} lines beyond the limit were not logged.', 'WARNING')
            self._is_closing = True
            self._give_up_at = time.monotonic() + seconds_max
            self._changed.notify_all()
        self._thread.join(seconds_max + 1)
        while self._thread.is_alive() and is_cut_off():
            self._thread.join(seconds_max + 1)

    def _has_room(self) -> bool:
        if self._is_dropping:
            if self._queued_bytes > QUEUE_BYTES_MAX / 2:
                return False
        elif not self._changed.wait_for(lambda: self._queued_bytes < QUEUE_BYTES_MAX, STALL_SECONDS_MAX):
            self._is_dropping = True
            return False
        if self._dropped_lines:
            lost = f'{self._dropped_lines} lines were lost: Cloud Logging did not take them in time.'
            self._append('agent', lost, 'WARNING')
        self._is_dropping, self._dropped_lines = False, 0
        return True

    def _append(self, stream: str, text: str, severity: str) -> None:
        self._sequence += 1
        line = LogLine(stream, text, severity, time.time(), f'{self._policy.id_prefix}-{self._sequence:09d}')
        self._queue.append(line)
        self._queued_bytes += line.size_bytes
        if self._queued_bytes > BATCH_BYTES_MAX:
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._is_closing or self._queued_bytes > BATCH_BYTES_MAX, self._policy.flush_seconds
                )
                is_last = self._is_closing
            while batch := self._take_batch():
                if not self._deliver(batch):
                    return
            if is_last:
                return

    def _take_batch(self) -> List[LogLine]:
        """The oldest lines that one request may hold; they stay in the queue's size until delivered."""
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
        """False when time is up with lines undelivered."""
        try:
            return self._send_in_parts(batch)
        finally:
            with self._changed:
                self._queued_bytes -= sum(line.size_bytes for line in batch)
                self._changed.notify_all()

    def _send_in_parts(self, batch: Sequence[LogLine]) -> bool:
        parts = [batch]
        refusals: List[LogsRefused] = []
        lost: List[LogLine] = []
        while parts:
            part = parts.pop()
            try:
                if not self._send_patiently(part):
                    return False
            except LogsRefused as refusal:
                refusals.append(refusal)
                if isinstance(refusal, EntriesRefused) and len(part) > 1 and len(refusals) < REFUSALS_MAX:
                    middle = len(part) // 2
                    parts += (part[middle:], part[:middle])
                else:
                    lost += part
        if lost:
            self._tell_loss(lost, refusals[-1])
        return True

    def _send_patiently(self, batch: Sequence[LogLine]) -> bool:
        for delay_seconds in backoff_delays():
            try:
                self._send(batch)
                return True
            except PassingFault as fault:
                with self._changed:
                    seconds_left = self._give_up_at - time.monotonic()
                    if seconds_left < delay_seconds and self._is_cut_off():
                        self._give_up_at = time.monotonic() + self._flush_seconds_max
                    elif seconds_left < delay_seconds:
                        show(f'log lines were lost: {fault}')
                        return False
                    self._changed.wait_for(lambda: self._is_closing, delay_seconds)
                if self._is_closing:
                    time.sleep(min(delay_seconds, 1))
        raise AssertionError('backoff_delays never ends')

    def _tell_loss(self, lost: Sequence[LogLine], refusal: LogsRefused) -> None:
        text = f'Cloud Logging refused {len(lost)} lines, which are lost: {refusal}'
        show(text)
        # Were the agent's own lines told of as well, each would bring about the next.
        if isinstance(refusal, EntriesRefused) and any(line.stream != 'agent' for line in lost):
            with self._changed:
                self._append('agent', text, 'WARNING')


def encode_batch(body: object) -> bytes:
    """Raises ValueError for NaN and infinite numbers: for one of them Google's parser refuses the whole request."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode('utf-8', 'replace')
