"""The program's metrics from all sources: their last values, their history, and a trial's measurements."""

import json
import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from vm_agent.logs.mask import Mask
from vm_agent.logs.once_log import OnceLog
from vm_agent.logs.serial_console import write_to_console
from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.samples.measurements import Measurement, Measurements
from vm_agent.metrics.samples.progress import LastValues, Progress
from vm_agent.metrics.samples.read_requests import ReadRequests
from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.samples.sample_names import NAME_COUNT_MAX, SampleNames
from vm_agent.metrics.samples.sample_times import SampleTimes
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.thinned_series import Point
from vm_agent.metrics.sources.bucket_events import BucketEvents
from vm_agent.metrics.sources.event_folder import EventFolder
from vm_agent.metrics.sources.hypertune_file import HypertuneFile
from vm_agent.metrics.sources.log_lines import LogLines
from vm_agent.metrics.sources.metrics_file import MetricsFile
from vm_agent.metrics.sources.mlflow_database import MlflowDatabase
from vm_agent.metrics.sources.output_metrics import OutputMetrics
from vm_agent.metrics.sources.progress_server import ProgressServer
from vm_agent.metrics.sources.source import MetricSource
from vm_agent.program.json_file import replace_json

# The delay that a person who watches a curve notices; reading more often costs more for the same samples.
READ_SECONDS = 5.0
# Reading takes at most this share of one core, however much is reported.
READ_FRACTION_MAX = 0.05
# The time of one call; what is left is read by the next one, but not after the program's end.
READ_SECONDS_MAX = 2.0
LAST_READ_SECONDS_MAX = 20.0
# Until the agent goes on to save the output, whatever a file or database of the program does to its reader. The second
# applies to a VM that may be shut down within seconds.
FINISH_SECONDS_MAX = 60.0
FINISH_HURRIED_SECONDS_MAX = 5.0
# MLflow creates it when it is first used.
MLFLOW_DATABASE = 'mlflow.db'
# For a job that is not a trial, listing the bucket is worth a cent a day.
BUCKET_SECONDS_MIN = 60.0


class MetricPaths:
    """Paths on the work disk, or in a container in which the folder of the metrics is another one."""

    def __init__(self, home: Path, folder: Optional[Path] = None) -> None:
        folder = folder or home / 'metrics'
        self.metrics_file = folder / 'metrics.jsonl'
        self.hypertune_file = folder / 'hypertune' / 'output.metrics'
        self.mlflow_database = folder / MLFLOW_DATABASE
        # Not with the metrics, which a container writes: a link in its place would lead anywhere.
        self.state = home / 'metrics-state.json'
        self.output = home / 'output'


@dataclass(frozen=True)
class MetricSettings:
    attempt_id: str = ''
    """The state of another attempt is not this one's."""
    metric_ids: Optional[Sequence[str]] = None
    """The metrics of the study whose history is reported with heartbeats; None for a job that is not a trial."""
    bucket_events: Optional[BucketEvents] = None
    """None for a replica whose output is not saved."""
    history: Optional[SeriesHistory] = None
    """Where all samples are kept."""
    log: Callable[[str, str], None] = lambda text, _severity: write_to_console(text)
    reads_output: Optional[bool] = None
    """
    Whether metrics in the lines that the program prints are kept: all that may be one, or none; None for those that are
    surely one, of metrics that are not reported otherwise.
    """
    saves_output: bool = True
    """In a cluster, only the master's output directory is saved."""


SampleListener = Callable[[Sample], None]


class ProgramMetrics:
    """
    Thread-safe. A metric that several sources report is taken from the first of them: hypertune's file, Dropforge's
    metrics file, event files of the output and of the working directory, MLflow, event files in the bucket, of trials
    lines on stdout, and the log.
    """

    def __init__(
        self, paths: MetricPaths, mask: Optional[Mask] = None, settings: MetricSettings = MetricSettings()
    ) -> None:
        """`mask` is applied to the names of metrics."""
        self._state_path = paths.state
        self._settings = settings
        self._bucket_events = settings.bucket_events
        self._history = settings.history
        self._metrics_file = MetricsFile(paths.metrics_file)
        self._events = EventFolder(paths.output)
        self._work_events = EventFolder(None)
        self._output = None if settings.metric_ids is None else OutputMetrics()
        self._lines = LogLines(takes_all=settings.reads_output is True)
        self._mlflow = MlflowDatabase(paths.mlflow_database, paths.output, settings.saves_output, settings.log)
        self._hypertune = HypertuneFile(paths.hypertune_file)
        self.progress_server = ProgressServer()
        sources: Tuple[Optional[MetricSource], ...] = (
            self._hypertune,
            self._metrics_file,
            self._events,
            self._work_events,
            self._mlflow,
            self._bucket_events,
            self._output,
            self._lines,
            self.progress_server,
        )
        self._sources = tuple(source for source in sources if source is not None)
        self._measurements = Measurements(settings.metric_ids or ())
        self._last = LastValues()
        self._names = SampleNames(mask or Mask(), self._measurements.metric_ids)
        self._times = SampleTimes(BootClock())
        self._steps: Tuple[Optional[float], Optional[float]] = (None, None)
        self._started_at: Optional[float] = None
        self._counts: Dict[str, int] = {}
        self._requests = ReadRequests()
        self._once = OnceLog(settings.log)
        # Held while files are read, which may take seconds.
        self._reading = threading.Lock()
        # Held while what a heartbeat needs is changed.
        self._lock = threading.Lock()
        self.on_sample: List[SampleListener] = []
        """
        Called for every sample that is taken, with its series as `name`, and with step and time. They must not raise,
        nor wait: the reading of metrics waits for them.
        """

    def read_below(self, folder: Path) -> None:
        """Reads event files in the working directory, too, except those that it has now. Called before the program starts."""
        with self._reading:
            self._work_events.open(folder)

    def continue_counts(self, counts: Mapping[str, int]) -> None:
        """Called before `start`: reports without a step are numbered on from those of earlier attempts."""
        own = {name: count for name, count in counts.items() if name in self._measurements.metric_ids}
        self._names.counts.update(own)
        self._hypertune.continue_counts(own)
        self._counts = own

    def count_reports(self) -> Dict[str, int]:
        """
        Returns how often each of a trial's metrics has been reported without a step, until now; waits for at most
        READ_SECONDS_MAX, whatever a file or database of the program does to its reader.
        """
        if self._measurements.metric_ids:
            self._requests.ask(READ_SECONDS_MAX)
        with self._lock:
            return dict(self._counts)

    def start(self, started_at: float, is_continued: bool, interval_seconds: float) -> None:
        """
        Called just before the program starts: what is on the disk by then was reported by earlier attempts, unless the
        attempt is continued after a reboot. `started_at` is when the program first started in this attempt, in seconds
        since the epoch.
        """
        with self._reading:
            self._started_at = self._times.started_at = started_at
            if not (is_continued and self._restore()):
                self._events.skip_existing()
                self._mlflow.start()
                self._recover_history(None)
        if self._bucket_events is not None:
            is_trial = self._settings.metric_ids is not None
            seconds = interval_seconds if is_trial else max(interval_seconds, BUCKET_SECONDS_MIN)
            self._bucket_events.start(seconds, started_at, self._needs_bucket)

    def follow(self, interval_seconds: float) -> None:
        """Reads what is new at every interval, until `finish`. A defect costs metrics, not the job."""

        def run() -> None:
            pause = interval_seconds
            while True:
                number = self._requests.next(pause)
                if number is None:
                    return
                began_at = time.monotonic()
                try:
                    self.read()
                except Exception as error:
                    self._report('reading', error)
                self._requests.serve(number)
                pause = max(interval_seconds, (time.monotonic() - began_at) / READ_FRACTION_MAX)

        self._requests.open()
        threading.Thread(target=run, name='metrics', daemon=True).start()

    def resume(self, started_at: Optional[float]) -> None:
        """Called in place of `start` after a reboot, if the program has ended: what is not answered is sent again."""
        with self._reading:
            self._started_at = started_at
            if not self._restore():
                self._recover_history(None)

    def add_output(self, stream: str, block: bytes) -> None:
        """Receives the program's output, in masked blocks of whole lines; does not wait for anything."""
        if self._output is not None and stream == 'stdout':
            self._output.add(block)
        if stream != 'agent':
            self._lines.add(block, time.time())

    def finish(self, is_hurried: bool) -> None:
        """
        Reads all that the program has reported; it has ended, and its output is complete. `is_hurried`: only what takes
        a moment, since the VM may be shut down. What takes longer goes on while the output is saved.
        """
        self._requests.close()
        if self._bucket_events is not None and not is_hurried and self._needs_bucket():
            self._bucket_events.finish()

        def read() -> None:
            try:
                self._read(is_last=True, seconds_max=READ_SECONDS_MAX if is_hurried else LAST_READ_SECONDS_MAX)
            except Exception as error:
                self._report('reading', error)

        last = threading.Thread(target=read, name='last metrics', daemon=True)
        last.start()
        last.join(FINISH_HURRIED_SECONDS_MAX if is_hurried else FINISH_SECONDS_MAX)
        if last.is_alive():
            self._settings.log('The last metrics are still being read, and some may be missing.', 'WARNING')

    def read(self) -> Progress:
        """Reads what is new. Returns the last values."""
        self._read(is_last=False, seconds_max=READ_SECONDS_MAX)
        return self.progress()

    def progress(self) -> Progress:
        """Returns the last values that were read. Does not wait for a file."""
        with self._lock:
            step, steps_max = self._steps
            return Progress(step, steps_max, dict(self._last.metrics), dict(self._last.non_finite))

    def batch(self) -> Tuple[Measurement, ...]:
        """Returns the measurements that no answered heartbeat has had; empty for a job that is not a trial."""
        with self._lock:
            return self._measurements.batch()

    def remove(self, batch: Sequence[Measurement]) -> None:
        """Removes the measurements of a heartbeat that was answered; a reboot before the next read repeats them."""
        with self._lock:
            self._measurements.remove(batch)

    def _current_counts(self) -> Dict[str, int]:
        """A metric is counted by its own source or by its name; the other has at most what earlier attempts counted."""
        named, hypertune = self._names.counts, self._hypertune.counts()
        known = self._measurements.metric_ids.intersection([*named, *hypertune])
        return {name: max(named.get(name, 0), hypertune.get(name, 0)) for name in known}

    def _needs_bucket(self) -> bool:
        """Whether something may be reported to the bucket alone: of trials, a metric of the study."""
        if self._settings.metric_ids is None:
            return not (self._events.has_files or self._work_events.has_files)
        rank = self._sources.index(self._work_events)
        return not all(self._names.has(name, rank) for name in self._measurements.metric_ids)

    def _read(self, is_last: bool, seconds_max: float) -> None:
        with self._reading:
            # Before the program starts, the output directory has what earlier attempts wrote.
            if self._started_at is None:
                return
            give_up_at = time.monotonic() + seconds_max
            while self._read_round(is_last) and time.monotonic() < give_up_at:
                self._store()
            if is_last and self._history is not None:
                self._history.finish()
            self._store()

    def _read_round(self, is_last: bool) -> bool:
        """Returns whether there is more to read."""
        self._times.begin_round()
        for rank, source in enumerate(self._sources):
            try:
                samples = source.read(is_last)
                for index, sample in enumerate(samples, 1):
                    if source is self._lines and not self._keeps_printed(sample.name, rank):
                        self._notify(sample)
                    else:
                        self._take(sample, rank, index / len(samples))
            except Exception as error:
                # A job is not lost for a metric.
                self._report(type(source).__name__, error)
        steps = self._find_steps()
        counts = self._current_counts()
        with self._lock:
            self._steps, self._counts = steps, counts
        return any(source.is_behind for source in self._sources)

    def _take(self, sample: Sample, rank: int, progress: float) -> None:
        name = self._names.take(sample.series, rank)
        if name is None:
            return
        step = self._names.step_of(sample)
        at = self._times.of(name, sample.wall_time, progress)
        if not sample.is_shadowed:
            shown = name if sample.run == '' else self._names.take(sample.name, rank)
            if shown is not None:
                with self._lock:
                    self._last.add(shown, sample.value, sample.step)
                    if sample.name in self._measurements.metric_ids:
                        self._measurements.add(sample.name, sample.value, (step, self._elapsed_ms(sample.wall_time)))
        if self._history is not None:
            self._history.add(name, Point(step, at, sample.value))
        self._notify(Sample(name, sample.value, step, at))

    def _keeps_printed(self, name: str, rank: int) -> bool:
        """Whether a printed metric is kept, and not only looked at for its health. A curve that has begun goes on."""
        is_asked = self._settings.reads_output
        is_other = self._names.has_kind(name, rank - 1) and not self._names.has(name, rank)
        return is_asked is True or (is_asked is None and not is_other)

    def _notify(self, sample: Sample) -> None:
        for listener in self.on_sample:
            try:
                listener(sample)
            except Exception as error:
                self._report('a listener', error)

    def _report(self, topic: str, error: Exception) -> None:
        self._once.warn(f'Metrics could not be used, and some may be missing ({topic}): {error!r}', topic)

    def _elapsed_ms(self, wall_time: Optional[float]) -> int:
        """The running time at a report; until now, if the report does not say when it was made."""
        started_at = self._started_at or 0.0
        now_ms = max(0.0, time.time() - started_at) * 1_000
        if wall_time is None or not math.isfinite(wall_time) or wall_time < started_at:
            return round(now_ms)
        return round(min(now_ms, (wall_time - started_at) * 1_000))

    def _find_steps(self) -> Tuple[Optional[float], Optional[float]]:
        ordered = (self._metrics_file, self.progress_server, *self._sources)
        step = next((source.step for source in ordered if source.step is not None), None)
        return step, next((source.steps_max for source in ordered if source.steps_max is not None), None)

    def _store(self) -> None:
        """
        Writes the history, and with it how far the sources were read: after a reboot, neither is a sample missing nor
        twice. A state that cannot be written is read again from the files.
        """
        history = self._history
        if history is not None:
            omitted = (self._names.omitted_name_count, self._names.omitted_sample_count)
            if omitted[0] > 0:
                self._once.warn(
                    f'The program reports more than {NAME_COUNT_MAX} metrics: those that came later are not kept.'
                )
            history.write(self._times.now(), omitted)
        with self._lock:
            body = {
                'attempt': self._settings.attempt_id,
                'sources': [source.to_json() for source in self._sources],
                'measurements': self._measurements.to_json(),
                'last': self._last.to_json(),
                'names': self._names.to_json(),
                'history': None if history is None else history.to_json(),
            }
        try:
            self._state_path.parent.mkdir(parents=True, exist_ok=True)
            replace_json(self._state_path, body, is_synced=False)
        except OSError:
            pass
        if history is not None:
            history.commit()

    def _recover_history(self, state: Optional[Dict[str, Any]]) -> None:
        if self._history is not None:
            self._history.recover(state)

    def _restore(self) -> bool:
        """Returns whether there was a state of this attempt."""
        try:
            body: Any = json.loads(self._state_path.read_text('utf-8'))
            if body['attempt'] != self._settings.attempt_id:
                return False
            bodies: List[Dict[str, Any]] = body['sources']
            for source, state in zip(self._sources, bodies):
                source.restore(state)
            self._measurements.restore(body['measurements'])
            self._last.restore(body['last'])
            self._names.restore(body['names'])
            self._counts = self._current_counts()
            self._recover_history(body['history'])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return True
