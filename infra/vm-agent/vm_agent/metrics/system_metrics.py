"""Readings of the VM itself: the job's system series, such as `cpu/fraction` and `gpu/0/utilization`."""

import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Tuple

from vm_agent.logs.once_log import OnceLog
from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.thinned_series import Point
from vm_agent.program.counters import rates_between, read_counters
from vm_agent.program.gpu_meter import GpuMeter, GpuUsage
from vm_agent.program.usage import cpu_fraction, read_cpu_times, read_memory

# A person who watches a chart notices no more, and it is 60,000 readings a week. All of /proc costs below a
# millisecond.
INTERVAL_SECONDS = 10.0
RATE_NAMES = {
    'disk_read': 'disk/read',
    'disk_written': 'disk/written',
    'network_received': 'network/received',
    'network_sent': 'network/sent',
}


@dataclass(frozen=True)
class SystemReading:
    at: float
    """Seconds since the epoch, by BootClock."""
    values: Mapping[str, float]
    """By the name of the series, in its unit (views/metrics/series-unit.ts); without what is not provided."""
    gpus: Tuple[GpuUsage, ...] = ()
    """Empty if there are none or their driver does not answer."""


ReadingListener = Callable[[SystemReading], None]


class SystemMeter:
    """Not thread-safe. CPU, disk and network are measured over the time since the last call."""

    def __init__(self, disk: Path, gpus: GpuMeter, clock: BootClock) -> None:
        """`disk` is a folder on the work disk."""
        self._disk = disk
        self._gpus = gpus
        self._clock = clock
        self._cpu = read_cpu_times()
        self._counters = read_counters()
        self._measured_at = time.monotonic()

    def measure(self) -> SystemReading:
        values: Dict[str, float] = {}
        cpu, counters, now = read_cpu_times(), read_counters(), time.monotonic()
        fraction = cpu_fraction(self._cpu, cpu)
        if fraction is not None:
            values['cpu/fraction'] = fraction
        memory = read_memory()
        if memory is not None:
            values['memory/used'], values['memory/total'] = memory
        try:
            disk = shutil.disk_usage(self._disk)
            values['disk/used'], values['disk/free'] = disk.used, disk.free
        except OSError:
            pass
        for name, rate in rates_between(self._counters, counters, now - self._measured_at).items():
            values[RATE_NAMES[name]] = round(rate)
        self._cpu, self._counters, self._measured_at = cpu, counters, now
        gpus = self._gpus.latest()
        for index, gpu in enumerate(gpus):
            values.update({f'gpu/{index}/{name}': value for name, value in _values_of(gpu).items()})
        return SystemReading(self._clock.now(), values, gpus)


def _values_of(gpu: GpuUsage) -> Dict[str, float]:
    values = {
        'utilization': gpu.busy_fraction,
        'memory-used': gpu.memory_bytes,
        'memory-total': gpu.memory_bytes_max,
        'power': gpu.power_watts,
        'temperature': gpu.temperature_celsius,
        'clock': gpu.clock_hertz,
    }
    return {name: value for name, value in values.items() if value is not None}


class SystemSampler:
    """Takes a reading at every interval, from the agent's start to its end."""

    def __init__(self, meter: SystemMeter, log: Callable[[str, str], None]) -> None:
        self._meter = meter
        self._once = OnceLog(log)
        self._lock = threading.Lock()
        self.on_reading: List[ReadingListener] = []
        """Called for each reading, in a thread of its own; a listener that fails costs no other its readings."""

    def start(self, interval_seconds: float = INTERVAL_SECONDS) -> None:
        def run() -> None:
            while True:
                time.sleep(interval_seconds)
                self.sample()

        threading.Thread(target=run, name='system-sampler', daemon=True).start()

    def sample(self) -> None:
        """Takes one reading. Does not raise: a job is not lost for a chart."""
        try:
            with self._lock:
                reading = self._meter.measure()
        except Exception as error:
            self._report(error)
            return
        for listener in self.on_reading:
            try:
                listener(reading)
            except Exception as error:
                self._report(error)

    def _report(self, error: Exception) -> None:
        self._once.warn(f'A reading of the VM could not be used, and later ones may be missing: {error!r}', 'reading')


class SystemSeries:
    """The readings, on their way to the job directory."""

    def __init__(self, history: SeriesHistory, clock: BootClock) -> None:
        self._history = history
        self._clock = clock

    def add(self, reading: SystemReading) -> None:
        for name, value in reading.values.items():
            self._history.add(name, Point(0.0, reading.at, value))

    def write(self) -> None:
        """Writes what was added since the last call: called before each upload, so that lines have several points."""
        if self._history.write(self._clock.now(), (0, 0)):
            self._history.commit()
