"""
The usage of the VM's GPUs, from nvidia-smi in a thread of its own: a driver that hangs delays nothing, and at most one
nvidia-smi waits for it.
"""

import subprocess
import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

GPU_QUERY = (
    'nvidia-smi',
    '--query-gpu=name,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,clocks.sm',
    '--format=csv,noheader,nounits',
)
GPU_COUNT_MAX = 16
# The query takes some tenths of a second of the driver, so more often would cost more than it tells.
INTERVAL_SECONDS = 10.0
QUERY_SECONDS_MAX = 5.0
# The first query loads the driver and may be slow. One that fails this often in a row is asked less.
FAILURES_MAX = 3
FAILED_INTERVAL_SECONDS = 120.0
# A reading that is older says nothing about now.
AGE_SECONDS_MAX = 30.0
MEBIBYTE = 1_048_576
MEGAHERTZ = 1_000_000


@dataclass(frozen=True)
class GpuUsage:
    name: str
    busy_fraction: float
    memory_bytes: int
    memory_bytes_max: int
    power_watts: Optional[float] = None
    """None for this and the following if the GPU does not report it."""
    temperature_celsius: Optional[float] = None
    clock_hertz: Optional[float] = None

    def to_json(self) -> Dict[str, Any]:
        """Returns its fields in a heartbeat."""
        return {
            'name': self.name,
            'busyFraction': self.busy_fraction,
            'memoryBytes': self.memory_bytes,
            'memoryBytesMax': self.memory_bytes_max,
        }


class GpuMeter:
    """Thread-safe."""

    def __init__(self, interval_seconds: float = INTERVAL_SECONDS) -> None:
        self._interval_seconds = interval_seconds
        self._latest: Tuple[float, Tuple[GpuUsage, ...]] = (time.monotonic(), ())

    def start(self) -> None:
        threading.Thread(target=self._run, name='gpu-meter', daemon=True).start()

    def latest(self) -> Tuple[GpuUsage, ...]:
        """Returns the last usage; empty if there is no GPU or its driver has not answered lately. Does not wait."""
        measured_at, gpus = self._latest
        is_current = time.monotonic() - measured_at < AGE_SECONDS_MAX + self._interval_seconds
        return gpus if is_current else ()

    def _run(self) -> None:
        failure_count = 0
        while True:
            try:
                query = subprocess.run(
                    GPU_QUERY,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors='replace',
                    timeout=QUERY_SECONDS_MAX,
                    check=True,
                )
                self._latest = (time.monotonic(), parse_gpus(query.stdout))
                failure_count = 0
            except OSError:
                # There is no nvidia-smi.
                return
            except subprocess.SubprocessError:
                failure_count += 1
            time.sleep(self._interval_seconds if failure_count < FAILURES_MAX else FAILED_INTERVAL_SECONDS)


def parse_gpus(text: str) -> Tuple[GpuUsage, ...]:
    """Parses the output of GPU_QUERY. Of a GPU that does not report its utilization or memory (`[N/A]`), it is 0."""
    gpus = []
    for line in text.splitlines()[:GPU_COUNT_MAX]:
        name, *fields = [field.strip() for field in line.split(',')]
        if len(fields) == 6:
            busy, used, total = (int(field) if field.isdecimal() else 0 for field in fields[:3])
            power, temperature, clock = (_to_number(field) for field in fields[3:])
            clock_hertz = None if clock is None else clock * MEGAHERTZ
            memory = (used * MEBIBYTE, total * MEBIBYTE)
            gpus.append(GpuUsage(name[:100], min(1.0, busy / 100), *memory, power, temperature, clock_hertz))
    return tuple(gpus)


def _to_number(field: str) -> Optional[float]:
    return float(field) if field.replace('.', '', 1).isdecimal() else None
