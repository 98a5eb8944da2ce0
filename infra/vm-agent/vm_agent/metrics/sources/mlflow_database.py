"""The metrics that the program logs to MLflow, from its database (docs/adr/0044)."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.foreign_database import UnreadableDatabase, open_read_only, recover, remove_database
from vm_agent.metrics.sources.mlflow_copy import MlflowCopy
from vm_agent.metrics.sources.source import MetricSource

if TYPE_CHECKING:
    import sqlite3

READ_SECONDS_MAX = 2.0
SAMPLES_PER_READ_MAX = 20_000
RUN_COUNT_MAX = 2_000
# The number of metrics whose values may have been logged without a step.
COUNTED_MAX = 2_000
PREFIX_CHARS_MAX = 60
# MLflow stores these in the place of infinite values.
LARGEST = 1.7976931348623157e308

# Rows have growing numbers: SQLite gives them in the order of commits.
RUNS = (
    'SELECT CAST(rowid AS INTEGER), substr(CAST(run_uuid AS TEXT), 1, 64), substr(CAST(name AS TEXT), 1, 250), '
    "EXISTS (SELECT 1 FROM tags WHERE tags.run_uuid = runs.run_uuid AND tags.key = 'mlflow.parentRunId') FROM runs"
)
METRICS = (
    'SELECT CAST(rowid AS INTEGER), substr(CAST(run_uuid AS TEXT), 1, 64), substr(CAST(key AS TEXT), 1, 250), '
    'CASE WHEN is_nan THEN NULL ELSE CAST(value AS REAL) END, CAST(timestamp AS INTEGER), CAST(step AS INTEGER) '
    'FROM metrics WHERE rowid > ? ORDER BY rowid LIMIT ?'
)


class MlflowDatabase(MetricSource):
    def __init__(
        self, database: Path, output: Path, saves_output: bool, log: Callable[[str, str], None]
    ) -> None:
        self._database = database
        self._copy = MlflowCopy(database, output, log)
        self._saves_output = saves_output
        # The agent's own.
        self._folder = output.parent
        self._log = log
        self._rows: Optional[Tuple[int, int]] = (0, 0)
        """The last rows of runs and metrics that were read; None until those of earlier attempts can be skipped."""
        self._prefixes: Dict[str, str] = {}
        """The prefix of the series of each run; empty for the main run."""
        self._steps: Dict[str, Tuple[float, bool]] = {}
        self._has_omitted_runs = False

    def start(self) -> None:
        """
        Restores the runs of earlier attempts, whose metrics are known and therefore skipped. Called before the program
        starts, unless the attempt is continued after a reboot.
        """
        self._copy.restore()
        self._rows = None
        if not os.path.lexists(self._database):
            self._rows = (0, 0)
            return
        try:
            with open_read_only(self._database, READ_SECONDS_MAX) as connection:
                self._rows = _last_rows(connection)
        except UnreadableDatabase:
            return

    def read(self, is_last: bool = False) -> List[Sample]:
        self.is_behind = False
        if not os.path.lexists(self._database):
            return []
        source = self._database
        try:
            try:
                samples = self._read(source)
            except UnreadableDatabase:
                if not is_last:
                    return []
                source = recover(self._database, self._folder)
                samples = self._read(source)
            if self._saves_output:
                self._copy.update(source, is_last)
        except (UnreadableDatabase, OSError) as error:
            self._log(f'MLflow: its database cannot be read, and its last metrics may be missing: {error}', 'WARNING')
            return []
        finally:
            if source != self._database:
                remove_database(source)
        return samples

    def to_json(self) -> Dict[str, Any]:
        return {'rows': self._rows, 'step': self.step}

    def restore(self, body: Dict[str, Any]) -> None:
        """The program is started again, and its first run is the main one again."""
        rows = body['rows']
        self._rows = None if rows is None else (int(rows[0]), int(rows[1]))
        self.step = body['step']

    def _read(self, source: Path) -> List[Sample]:
        with open_read_only(source, READ_SECONDS_MAX) as connection:
            last = _last_rows(connection)
            runs_row, metrics_row = last if self._rows is None else self._rows
            # Rows that were deleted for good make their numbers free.
            runs_row, metrics_row = min(runs_row, last[0]), min(metrics_row, last[1])
            rows = connection.execute(METRICS, (metrics_row, SAMPLES_PER_READ_MAX)).fetchall()
            for run_id in dict.fromkeys(row[1] for row in rows if row[1] not in self._prefixes):
                # The program goes on with a run of an earlier attempt.
                for run in connection.execute(f'{RUNS} WHERE run_uuid = ? AND rowid <= ?', (run_id, runs_row)):
                    self._add_run(*run[1:])
            for run in connection.execute(f'{RUNS} WHERE rowid > ? ORDER BY rowid', (runs_row,)):
                runs_row = run[0]
                self._add_run(*run[1:])
        self._rows = runs_row, rows[-1][0] if rows else metrics_row
        self.is_behind = len(rows) == SAMPLES_PER_READ_MAX
        return [sample for row in rows for sample in self._samples_of(row[1:])]

    def _samples_of(self, row: Tuple[Any, ...]) -> List[Sample]:
        """Returns one sample, or none of a run that is not known."""
        run_id, key, value, timestamp_ms, step = row
        prefix = self._prefixes.get(run_id)
        if prefix is None:
            return []
        name = f'{prefix}/{key}' if prefix else key or ''
        counted = self._step_of(name, step or 0)
        if not prefix:
            self.step = counted
        return [Sample(name, _value_of(value), counted, (timestamp_ms or 0) / 1_000)]

    def _step_of(self, name: str, step: int) -> float:
        """MLflow stores 0 for a value that was logged without a step: such values are counted, from 0."""
        last, is_counted = self._steps.get(name, (-1.0, True))
        found, is_counted = (float(step), False) if step != 0 else (last + 1 if is_counted else 0.0, is_counted)
        if name in self._steps or len(self._steps) < COUNTED_MAX:
            self._steps[name] = (found, is_counted)
        return found

    def _add_run(self, run_id: Optional[str], name: Optional[str], is_nested: int) -> None:
        """The first run that is not nested is the main one; the metrics of others have its name before them."""
        # A read that failed is repeated from its beginning.
        if run_id is None or run_id in self._prefixes:
            return
        if len(self._prefixes) >= RUN_COUNT_MAX:
            if not self._has_omitted_runs:
                self._has_omitted_runs = True
                message = f'the program has more than {RUN_COUNT_MAX} runs; the curves of later ones are not kept.'
                self._log(f'MLflow: {message}', 'WARNING')
            return
        taken = set(self._prefixes.values())
        if not is_nested and '' not in taken:
            self._prefixes[run_id] = ''
            return
        base = re.sub(r'[^\w.=+-]+', '-', name or '')[:PREFIX_CHARS_MAX].strip('-') or f'run-{run_id[:8]}'
        prefix, count = base, 1
        while prefix in taken:
            count += 1
            prefix = f'{base}-{count}'
        self._prefixes[run_id] = prefix


def _last_rows(connection: 'sqlite3.Connection') -> Tuple[int, int]:
    runs, metrics = (f'CAST((SELECT max(rowid) FROM {table}) AS INTEGER)' for table in ('runs', 'metrics'))
    statement = f'SELECT {runs}, {metrics}'
    runs_row, metrics_row = connection.execute(statement).fetchone()
    return runs_row or 0, metrics_row or 0


def _value_of(stored: Optional[float]) -> float:
    if stored is None:
        return float('nan')
    return stored if abs(stored) < LARGEST else float('inf') if stored > 0 else float('-inf')
