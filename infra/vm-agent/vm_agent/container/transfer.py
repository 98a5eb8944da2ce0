"""How much of an image has arrived."""

import threading
import time
from dataclasses import dataclass
from typing import Callable, Dict

LOG_SECONDS = 10.0
# Manifest and configuration are not among the layers that intake counted.
EXTRA_BYTES_MAX = 16_777_216


@dataclass(frozen=True)
class Transfer:
    done_bytes: int
    total_bytes: int

    def __str__(self) -> str:
        return f'{format_bytes(self.done_bytes)} of {format_bytes(self.total_bytes)}'


class PullProgress:
    """Bytes by layer; thread-safe. Layers that are on the machine already are not counted."""

    def __init__(
        self, total_bytes: int, report: Callable[[Transfer], None], log: Callable[[str, str], None]
    ) -> None:
        self._total_bytes, self._report, self._log = total_bytes, report, log
        self._lock = threading.Lock()
        self._layers: Dict[str, int] = {}
        self._log_at = time.monotonic() + LOG_SECONDS
        report(Transfer(0, total_bytes))

    @property
    def done_bytes(self) -> int:
        with self._lock:
            return sum(self._layers.values())

    @property
    def is_exceeded(self) -> bool:
        """Whether more has arrived than intake found: the registry sends something else."""
        return self.done_bytes > self._total_bytes + EXTRA_BYTES_MAX

    def set_layer(self, layer: str, done_bytes: int) -> None:
        """A layer that is downloaded again keeps its highest value."""
        with self._lock:
            self._layers[layer] = max(self._layers.get(layer, 0), done_bytes)
            transfer = Transfer(min(sum(self._layers.values()), self._total_bytes), self._total_bytes)
            is_due = time.monotonic() >= self._log_at
            if is_due:
                self._log_at = time.monotonic() + LOG_SECONDS
        self._report(transfer)
        if is_due:
            self._log(f'Pulling the image: {transfer}.', 'INFO')


def format_bytes(count: int) -> str:
    return f'{count / 2**30:.1f} GiB' if count >= 2**30 else f'{count / 2**20:.1f} MiB'
