"""The program's metrics from all sources: their last values and, of a trial of a tuning, their history."""

import json
import math
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from vm_agent.logs.mask import Mask
from vm_agent.metrics.bucket_events import BucketEvents
from vm_agent.metrics.event_folder import EventFolder
from vm_agent.metrics.hypertune_file import HypertuneFile
from vm_agent.metrics.measurements import Measurement, Measurements
from vm_agent.metrics.metrics_file import MetricsFile
from vm_agent.metrics.output_metrics import OutputMetrics
from vm_agent.metrics.progress import LastValues, Progress
from vm_agent.metrics.records import Sample

# Of the metrics whose source is known; a program that reports more names has no use for the rest.
NAME_COUNT_MAX = 1_000


class MetricPaths:
    """Paths on the work disk."""

    def __init__(self, home: Path) -> None:
        folder = home / 'metrics'
        self.metrics_file = folder / 'metrics.jsonl'
        self.hypertune_file = folder / 'hypertune' / 'output.metrics'
        self.state = folder / 'state.json'
        self.output = home / 'output'


@dataclass(frozen=True)
class TrialMetrics:
    """What a trial of a tuning reports in addition."""

    attempt_id: str
    """The state of another attempt is not this one's."""
    metric_ids: Sequence[str]
    bucket_events: BucketEvents


class ProgramMetrics:
    """
    Thread-safe. A metric that several sources report is taken from the first of them: hypertune's file, Dropforge's
    metrics file, event files on the disk, event files in the bucket, and lines on stdout. The last two are for trials
    only, whose state survives a reboot.
    """

    def __init__(self, paths: MetricPaths, mask: Optional[Mask] = None, trial: Optional[TrialMetrics] = None) -> None:
        """`mask` is applied to the names of metrics."""
        self._state_path = paths.state
        self._mask = mask or Mask()
        self._trial = trial
        self._metrics_file = MetricsFile(paths.metrics_file)
        self._hypertune_file = HypertuneFile(paths.hypertune_file)
        self._events = EventFolder(paths.output)
        self._output = OutputMetrics()
        bucket = () if trial is None else (trial.bucket_events,)
        self._sources: Tuple[Any, ...] = (
            self._hypertune_file,
            self._metrics_file,
            self._events,
            *bucket,
            *(() if trial is None else (self._output,)),
        )
        self._measurements = Measurements(() if trial is None else trial.metric_ids)
        self._last = LastValues()
        self._ranks: Dict[str, int] = {}
        self._counts: Dict[str, int] = {}
        self._started_at: Optional[float] = None
        self._lock = threading.Lock()

    def start(self, started_at: float, is_continued: bool, interval_seconds: float) -> None:
        """
        Called just before the program starts: what is on the disk by then was reported by earlier attempts, unless the
        attempt is continued after a reboot. `started_at` is when the program first started in this attempt, in seconds
        since the epoch.
        """
        with self._lock:
            self._started_at = started_at
            if not (is_continued and self._restore()):
                self._events.skip_existing()
        if self._trial is not None:
            self._trial.bucket_events.start(interval_seconds, started_at, self._needs_more)

    def resume(self, started_at: Optional[float]) -> None:
        """Called in place of `start` after a reboot, if the program has ended: what is not answered is sent again."""
        with self._lock:
            self._started_at = started_at
            self._restore()

    def add_output(self, stream: str, block: bytes) -> None:
        """Receives the program's output, in masked blocks of whole lines; does not wait for anything."""
        if self._trial is not None and stream == 'stdout':
            self._output.add(block)

    def finish(self, is_hurried: bool) -> None:
        """
        Reads all that the program has reported; it has ended, and its output is complete. `is_hurried`: only what takes
        a moment, since the VM may be shut down.
        """
        if self._trial is not None and not is_hurried and self._needs_more():
            self._trial.bucket_events.finish()
        self._read(is_last=not is_hurried)

    def read(self) -> Progress:
        """Reads what is new. Returns the last values."""
        return self._read(is_last=False)

    def batch(self) -> Tuple[Measurement, ...]:
        """Returns the measurements that no answered heartbeat has had; empty for a job that is not a trial."""
        with self._lock:
            return self._measurements.batch()

    def remove(self, batch: Sequence[Measurement]) -> None:
        """Removes the measurements of a heartbeat that was answered."""
        if batch:
            with self._lock:
                self._measurements.remove(batch)
                self._store()

    def _needs_more(self) -> bool:
        """Whether a metric of the study was not found in any source before the bucket."""
        with self._lock:
            first = self._sources.index(self._events)
            return any(self._ranks.get(name, len(self._sources)) > first for name in self._measurements.metric_ids)

    def _read(self, is_last: bool) -> Progress:
        with self._lock:
            # Before the program starts, the output directory has what earlier attempts wrote.
            if self._started_at is not None:
                for rank, source in enumerate(self._sources):
                    samples = source.read(is_last) if source is self._events else source.read()
                    for sample in samples:
                        self._add(sample, rank)
                self._store()
            step, steps_max = self._find_steps()
            return Progress(step, steps_max, dict(self._last.metrics), dict(self._last.non_finite))

    def _add(self, sample: Sample, rank: int) -> None:
        known = self._ranks.get(sample.name)
        if known is None and len(self._ranks) >= NAME_COUNT_MAX and sample.name not in self._measurements.metric_ids:
            return
        if known is not None and known < rank:
            return
        self._ranks[sample.name] = rank
        step = sample.step
        if step is None:
            step = self._counts[sample.name] = self._counts.get(sample.name, 0) + 1
        self._last.add(self._mask(sample.name), sample.value, sample.step)
        self._measurements.add(sample.name, sample.value, (step, self._elapsed_ms(sample.wall_time)))

    def _elapsed_ms(self, wall_time: Optional[float]) -> int:
        """The running time at a report; until now, if the report does not say when it was made."""
        started_at = self._started_at or 0.0
        now_ms = max(0.0, time.time() - started_at) * 1_000
        if wall_time is None or not math.isfinite(wall_time) or wall_time < started_at:
            return round(now_ms)
        return round(min(now_ms, (wall_time - started_at) * 1_000))

    def _find_steps(self) -> Tuple[Optional[float], Optional[float]]:
        ordered = (self._metrics_file, *self._sources)
        step = next((source.step for source in ordered if source.step is not None), None)
        return step, next((source.steps_max for source in ordered if source.steps_max is not None), None)

    def _store(self) -> None:
        """A state that cannot be written is read again from the files after a reboot."""
        if self._trial is None or self._started_at is None:
            return
        body = {
            'attempt': self._trial.attempt_id,
            'sources': [source.to_json() for source in self._sources],
            'measurements': self._measurements.to_json(),
            'last': self._last.to_json(),
            'ranks': self._ranks,
            'counts': self._counts,
        }
        temporary = self._state_path.with_suffix('.new')
        try:
            self._state_path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(body), 'utf-8')
            os.replace(temporary, self._state_path)
        except OSError:
            return

    def _restore(self) -> bool:
        """Returns whether there was a state of this attempt."""
        if self._trial is None:
            return False
        try:
            body: Any = json.loads(self._state_path.read_text('utf-8'))
            if body['attempt'] != self._trial.attempt_id:
                return False
            bodies: List[Any] = body['sources']
            for source, state in zip(self._sources, bodies):
                source.restore(state)
            self._measurements.restore(body['measurements'])
            self._last.restore(body['last'])
            self._ranks, self._counts = dict(body['ranks']), dict(body['counts'])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return True
