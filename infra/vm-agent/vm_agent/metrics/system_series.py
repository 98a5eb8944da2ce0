"""The system series of one replica: the readings of its VM, on their way to the job directory."""

from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.thinned_series import Point
from vm_agent.metrics.system_metrics import SystemReading


class SystemSeries:
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
