"""
Writes what MLflow's own SQL store writes, without MLflow: the tables and columns of its versions 2.17 and 3.6
(mlflow/store/tracking/dbmodels/models.py), and its transactions. As a program, it logs to a database until it is
killed.
"""

import json
import math
import sqlite3
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

TABLES = """
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
CREATE TABLE experiments (
  experiment_id INTEGER NOT NULL, name VARCHAR(256) NOT NULL, artifact_location VARCHAR(256),
  lifecycle_stage VARCHAR(32), creation_time BIGINT, last_update_time BIGINT,
  CONSTRAINT experiment_pk PRIMARY KEY (experiment_id), UNIQUE (name),
  CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')));
CREATE TABLE runs (
  run_uuid VARCHAR(32) NOT NULL, name VARCHAR(250), source_type VARCHAR(20), source_name VARCHAR(500),
  entry_point_name VARCHAR(50), user_id VARCHAR(256), status VARCHAR(9), start_time BIGINT, end_time BIGINT,
  deleted_time BIGINT, source_version VARCHAR(50), lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200),
  experiment_id INTEGER, CONSTRAINT run_pk PRIMARY KEY (run_uuid),
  FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
  CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED')),
  CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')));
CREATE TABLE tags (
  key VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32) NOT NULL,
  CONSTRAINT tag_pk PRIMARY KEY (key, run_uuid), FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid));
CREATE TABLE params (
  key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT NULL,
  CONSTRAINT param_pk PRIMARY KEY (key, run_uuid), FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid));
CREATE TABLE metrics (
  key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL,
  step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL,
  CONSTRAINT metric_pk PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan),
  FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid), CHECK (is_nan IN (0, 1)));
CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
CREATE TABLE latest_metrics (
  key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT, step BIGINT NOT NULL, is_nan BOOLEAN NOT NULL,
  run_uuid VARCHAR(32) NOT NULL, CONSTRAINT latest_metric_pk PRIMARY KEY (key, run_uuid),
  FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid), CHECK (is_nan IN (0, 1)));
"""
TABLES_OF_3 = """
CREATE TABLE logged_models (
  model_id VARCHAR(34) NOT NULL PRIMARY KEY, experiment_id INTEGER NOT NULL, name VARCHAR(500) NOT NULL,
  artifact_location VARCHAR(1000) NOT NULL, creation_timestamp_ms BIGINT NOT NULL,
  last_updated_timestamp_ms BIGINT NOT NULL, status INTEGER NOT NULL, lifecycle_stage VARCHAR(32),
  model_type VARCHAR(500), source_run_id VARCHAR(32), status_message VARCHAR(1000));
"""
LARGEST = 1.7976931348623157e308


class Store:
    def __init__(self, database: Path, output: str = '/h/output', version: int = 3, mode: str = 'DELETE') -> None:
        is_new = not database.exists()
        # pool_pre_ping of SQLAlchemy, and MLflow's own busy_timeout.
        self._connection = sqlite3.connect(database, timeout=20, isolation_level=None)
        self._artifacts = f'{output}/mlflow-artifacts'
        self._now_ms = 1_000_000
        if is_new:
            self._connection.execute(f'PRAGMA journal_mode = {mode}')
            self._connection.executescript(TABLES + (TABLES_OF_3 if version == 3 else ''))
            self.create_experiment('Default', 0)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute('BEGIN')
        yield self._connection
        self._connection.execute('COMMIT')

    def create_experiment(self, name: str, number: int) -> None:
        with self.transaction() as connection:
            row = (number, name, f'{self._artifacts}/{number}', 'active', 1, 1)
            connection.execute('INSERT INTO experiments VALUES (?, ?, ?, ?, ?, ?)', row)

    def start_run(self, run_id: str, name: str, tags: Mapping[str, str] = {}, experiment: int = 0) -> str:
        with self.transaction() as connection:
            connection.execute(
                'INSERT INTO runs (run_uuid, name, status, start_time, lifecycle_stage, artifact_uri, experiment_id)'
                " VALUES (?, ?, 'RUNNING', 1, 'active', ?, ?)",
                (run_id, name, f'{self._artifacts}/{experiment}/{run_id}/artifacts', experiment),
            )
            for key, value in {'mlflow.runName': name, **tags}.items():
                connection.execute('INSERT INTO tags VALUES (?, ?, ?)', (key, value, run_id))
        return run_id

    def log(self, run_id: str, metrics: Sequence[Tuple[str, float, int]]) -> None:
        """Does what log_batch does: metrics are checked against the table, inserted, and the last ones updated."""
        with self.transaction() as connection:
            for key, value, step in metrics:
                self._now_ms += 1
                is_nan = math.isnan(value)
                stored = 0.0 if is_nan else max(-LARGEST, min(LARGEST, value))
                row = (key, stored, self._now_ms, run_id, step, is_nan)
                connection.execute('INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)', row)
                last = (key, stored, self._now_ms, step, is_nan, run_id)
                connection.execute('INSERT OR REPLACE INTO latest_metrics VALUES (?, ?, ?, ?, ?, ?)', last)

    def delete_run(self, run_id: str) -> None:
        with self.transaction() as connection:
            connection.execute("UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = ?", (run_id,))

    def execute(self, statement: str, values: Sequence[object] = ()) -> Any:
        return self._connection.execute(statement, values)

    def close(self) -> None:
        self._connection.close()

    def replay(self, recording: Path) -> None:
        """Stores what a recorded client of MLflow has sent (tests/mlflow/README.md)."""
        self.create_experiment('digits', 1)
        for line in recording.read_text('utf-8').splitlines():
            request = json.loads(line)
            self._replay(request['path'].rpartition('mlflow/')[2], request.get('body') or {}, request.get('id'))

    def _replay(self, path: str, body: Dict[str, Any], created: Optional[str]) -> None:
        if path == 'runs/create':
            tags = {tag['key']: tag['value'] for tag in body['tags']}
            assert created is not None
            name = body.get('run_name') or tags.pop('mlflow.runName', f'run-{created[:8]}')
            tags.pop('mlflow.runName', None)
            self.start_run(created, name, tags, int(body['experiment_id']))
        if path in ('runs/log-metric', 'runs/log-batch'):
            metrics = [body] if path == 'runs/log-metric' else body.get('metrics', [])
            self.log(body['run_id'], [(one['key'], float(one['value']), one['step']) for one in metrics])


def log_until_killed(database: str, mode: str) -> None:
    """Prints each step that is committed."""
    store = Store(Path(database), mode=mode)
    run_id = store.start_run('1' * 32, 'main')
    for step in range(1, 1_000_000):
        store.log(run_id, [('loss', 1 / step, step), ('acc', 1 - 1 / step, step)])
        print(step, flush=True)
        time.sleep(0.002)


def log_from_a_process(database: str, number: int, count: int) -> None:
    store = Store(Path(database))
    for step in range(1, count + 1):
        store.log('1' * 32, [(f'rank{number}', float(step), step)])
    store.close()


def die_in_a_transaction(database: str) -> None:
    """Leaves a journal, and pages in the database that it takes back."""
    import os
    import signal

    store = Store(Path(database))
    store.execute('PRAGMA cache_spill = 1')
    store.execute('PRAGMA cache_size = 10')
    with store.transaction() as connection:
        for step in range(1, 20_000):
            row = ('loss', 9.0, step, '1' * 32, step + 1_000, 0)
            connection.execute('INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)', row)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == '__main__':
    log_until_killed(sys.argv[1], sys.argv[2])
