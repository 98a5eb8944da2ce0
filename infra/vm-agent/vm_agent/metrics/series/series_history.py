"""All points of one kind of a replica's series, bounded, on their way to the job directory."""

import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from vm_agent.logs.once_log import OnceLog
from vm_agent.metrics.series.series_files import SeriesFile, SeriesFiles
from vm_agent.metrics.series.series_part import METRICS_KIND, Columns, SeriesOrigin, encode_columns, encode_omitted
from vm_agent.metrics.series.thinned_series import Point, ThinnedSeries, stretch_seconds

# The size for one attempt of one replica, before compression. A job with ten metrics twice a second takes it in ten
# days.
BYTES_MAX = 268_435_456
# In memory, until they are written.
PENDING_POINTS_MAX = 50_000


class SeriesHistory:
    """Thread-safe. No method raises for a full disk: what could not be kept is counted."""

    def __init__(self, folder: Path, kind: str, origin: SeriesOrigin, log: Callable[[str, str], None]) -> None:
        self._has_steps = kind == METRICS_KIND
        self._once = OnceLog(log)
        self._lock = threading.Lock()
        self._files = SeriesFiles(folder, kind, origin)
        self._series: Dict[str, ThinnedSeries] = {}
        self._open: Dict[str, ThinnedSeries] = {}
        self._pending: Dict[str, Columns] = {}
        self._pending_count = 0
        self._kept_count = 0
        self._bytes = 0
        self._added_count = 0
        self._lost_count = 0
        self._omitted: Tuple[int, int] = (0, 0)

    def recover(self, state: Optional[Dict[str, Any]]) -> None:
        """Goes on after a reboot with what `to_json` returned last; None if there is no such state."""
        with self._lock:
            try:
                self._files.recover(None if state is None else state['files'])
            except OSError as error:
                self._once.warn(f'Metrics of the boot before could not be read: {error}', 'recover')
            if state is not None:
                self._bytes = int(state['bytes'])
                for name, (kept_count, points) in state['series'].items():
                    series = self._series[name] = ThinnedSeries()
                    series.kept_count = int(kept_count)
                    self._kept_count += series.kept_count
                    self._keep(name, [Point(*point) for point in points])
                self._added_count = self._kept_count

    def add(self, name: str, point: Point) -> None:
        """Adds one report, by increasing times."""
        with self._lock:
            series = self._series.get(name)
            if series is None:
                series = self._series[name] = ThinnedSeries()
            self._added_count += 1
            is_new = point.at >= series.ends_at
            points = series.add(point, stretch_seconds(series.kept_count, self._kept_count) if is_new else 0.0)
            if points:
                self._keep(name, points)
            else:
                self._open[name] = series

    def write(self, now: float, omitted: Tuple[int, int]) -> bool:
        """
        Writes what waits to the disk. `now`: stretches that have ended by then are closed. `omitted` are the names and
        points that were not added. Returns whether something was written; `commit` follows.
        """
        with self._lock:
            for name, series in list(self._open.items()):
                self._keep(name, series.close_ended(now))
                if not series.is_open:
                    del self._open[name]
            series_count, point_count = omitted
            written = (series_count, point_count + self._dropped_count())
            lines = [encode_columns(name, columns) for name, columns in self._pending.items()]
            if written != self._omitted and (lines or series_count != self._omitted[0]):
                lines.append(encode_omitted(*written))
            return self._append(b''.join(lines), written)

    def _append(self, data: bytes, omitted: Tuple[int, int]) -> bool:
        if not data:
            return False
        if self._bytes + len(data) > BYTES_MAX:
            self._once.warn(f'The metric history has reached its limit of {BYTES_MAX} bytes: no more is kept.')
            self._drop_pending()
            return False
        try:
            self._files.append(data)
        except OSError as error:
            self._once.warn(f'Metrics could not be written to the disk: {error}', 'disk')
            if self._pending_count > PENDING_POINTS_MAX:
                self._drop_pending()
            return False
        self._bytes += len(data)
        self._omitted = omitted
        self._pending, self._pending_count = {}, 0
        return True

    def commit(self) -> None:
        """
        Lets the lines that were written be uploaded: they are not written again after a reboot, because `to_json` is
        stored.
        """
        with self._lock:
            self._files.commit()

    def finish(self) -> None:
        """Closes all stretches; nothing is added any more. `write` follows."""
        with self._lock:
            for name, series in self._open.items():
                self._keep(name, series.close())
            self._open = {}

    def to_upload(self) -> List[SeriesFile]:
        with self._lock:
            return self._files.to_upload()

    def record_upload(self, file: SeriesFile, size_bytes: int) -> None:
        with self._lock:
            try:
                self._files.record_upload(file, size_bytes)
            except OSError as error:
                self._once.warn(f'An uploaded part of the metrics could not be removed: {error}', 'remove')

    def to_json(self) -> Dict[str, Any]:
        with self._lock:
            series = {name: [one.kept_count, one.waiting()] for name, one in self._series.items()}
            return {'files': self._files.to_json(), 'bytes': self._bytes, 'series': series}

    def _keep(self, name: str, points: List[Point]) -> None:
        if not points:
            return
        columns = self._pending.get(name)
        if columns is None:
            columns = self._pending[name] = Columns([] if self._has_steps else None)
        for step, at, value in points:
            if columns.steps is not None:
                columns.steps.append(step)
            columns.times.append(round(at * 1_000))
            columns.values.append(value)
        self._kept_count += len(points)
        self._pending_count += len(points)

    def _dropped_count(self) -> int:
        waiting = sum(len(series.waiting()) for series in self._open.values())
        thinned_count = self._added_count - self._kept_count - waiting
        if thinned_count > 0:
            self._once.warn(
                'Metrics are reported faster than their history keeps them: of each second, or of longer stretches in a '
                'long job, the first, the last, the lowest and the highest values are kept.',
            )
        return thinned_count + self._lost_count

    def _drop_pending(self) -> None:
        self._lost_count += self._pending_count
        self._pending, self._pending_count = {}, 0
