"""MLflow on this VM: its server, its share of the job's metrics, and the document of the runs in the job directory."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from vm_agent.logs.mask import Mask
from vm_agent.metrics.records import Sample
from vm_agent.storage.foreign_files import open_regular
from vm_agent.tracking.artifacts import ArtifactFolder
from vm_agent.tracking.run_store import RunStore, to_ms
from vm_agent.tracking.server import TrackingServer

# In the output directory, so that the next attempt knows the runs of this one (shared/protocol/mlflow-runs.ts).
DOCUMENT = 'dropforge-mlflow.json'
DOCUMENT_BYTES_MAX = 16_777_216
# Writing a large document takes a moment, and the outputs that change are uploaded.
WRITE_SECONDS_MIN = 2.0


class Tracking:
    """A source of metrics; see vm_agent/metrics/source.py. Thread-safe."""

    def __init__(self, home: Path, job_id: str, log: Callable[[str, str], None], mask: Optional[Mask] = None) -> None:
        self._output = home / 'output'
        self._incoming = home / 'mlflow'
        self._job_id = job_id
        self._log = log
        self._mask = mask or Mask()
        self._store = RunStore(job_id, log)
        self._server: Optional[TrackingServer] = None
        self._lock = threading.Lock()
        self._written_changes = 0
        self._written_at = 0.0
        self.step: Optional[float] = None
        self.steps_max: Optional[float] = None
        self.is_behind = False

    def start(self) -> None:
        """Starts the server, and restores the runs of earlier attempts. A failure costs MLflow, not the job."""
        self._restore_document()
        try:
            self._server = TrackingServer(self._store, ArtifactFolder(self._output, self._incoming))
        except OSError as error:
            self._log(f'MLflow: the tracking server of this VM cannot start: {error}', 'WARNING')
            return
        self._lock = self._server.lock
        self._server.start()

    def add_variables(self, environment: Mapping[str, str], own: Mapping[str, str]) -> Dict[str, str]:
        """
        Returns the program's environment with the variables of MLflow. `own` are those that the job sets: with a
        tracking server of its own, nothing is added.
        """
        if self._server is None or 'MLFLOW_TRACKING_URI' in own:
            return dict(environment)
        has_experiment = 'MLFLOW_EXPERIMENT_NAME' in environment or 'MLFLOW_EXPERIMENT_ID' in environment
        return {
            **environment,
            **_proxy_exceptions(environment),
            'MLFLOW_TRACKING_URI': self._server.url,
            **({} if has_experiment else {'MLFLOW_EXPERIMENT_NAME': self._job_id}),
        }

    def read(self, is_last: bool) -> List[Sample]:
        with self._lock:
            samples = self._store.take_samples()
            self.step = self._store.step
            is_due = self._store.changes != self._written_changes or bool(samples)
            body = self._to_document(is_last) if is_due or (is_last and self._store.runs) else None
        if body is not None:
            self._write(body)
        return samples

    def to_json(self) -> Dict[str, Any]:
        return {'step': self.step}

    def restore(self, body: Mapping[str, Any]) -> None:
        self.step = body['step']

    def _to_document(self, is_last: bool) -> Optional[Dict[str, Any]]:
        if not self._store.runs or (not is_last and time.monotonic() - self._written_at < WRITE_SECONDS_MIN):
            return None
        self._written_at, self._written_changes = time.monotonic(), self._store.changes
        return self._store.to_json(self._mask)

    def _write(self, body: Mapping[str, Any]) -> None:
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
            temporary = self._incoming / 'runs.new'
            temporary.write_text(json.dumps(body), 'utf-8')
            os.replace(temporary, self._output / DOCUMENT)
        except OSError as error:
            self._store.warn(f'the runs could not be written: {error}')

    def close(self) -> None:
        """Stops the server; for tests, since the agent's process ends with its VM."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _restore_document(self) -> None:
        try:
            with open_regular(self._output / DOCUMENT) as file:
                body = file.read(DOCUMENT_BYTES_MAX + 1)
            if len(body) > DOCUMENT_BYTES_MAX:
                raise ValueError('it is too large')
            self._store.restore(json.loads(body), to_ms(time.time()))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._store.warn(f'the runs of earlier attempts cannot be read: {error!r}')


def _proxy_exceptions(environment: Mapping[str, str]) -> Dict[str, str]:
    """A proxy that the program uses for all requests cannot reach this VM's own server."""
    has_proxy = any(environment.get(name) for name in ('http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'))
    exceptions = environment.get('no_proxy') or environment.get('NO_PROXY') or ''
    if not has_proxy or '127.0.0.1' in [one.strip() for one in exceptions.split(',')]:
        return {}
    exceptions = ','.join(filter(None, [exceptions, '127.0.0.1']))
    return {'no_proxy': exceptions, 'NO_PROXY': exceptions}
