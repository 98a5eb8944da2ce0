"""The experiments, runs and models that the program has told MLflow about, and what of them is kept."""

import re
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Tuple

from vm_agent.metrics.records import Sample
from vm_agent.tracking.error import invalid, not_found
from vm_agent.tracking.run import NAME_TAG, PARENT_TAG, STATUSES, VALUE_CHARS_MAX, Metric, Run, read_int, read_pair

DEFAULT_EXPERIMENT_ID = '0'
JOB_EXPERIMENT_ID = '1'
EXPERIMENT_COUNT_MAX = 100
# The oldest ended ones are forgotten beyond it.
RUN_COUNT_MAX = 500
MODEL_COUNT_MAX = 500
# Until the next read, some seconds later.
SAMPLE_COUNT_MAX = 100_000
# Of all runs: what does not fit is left out of the document of the job directory.
DOCUMENT_CHARS_MAX = 4_000_000
PREFIX_CHARS_MAX = 60


@dataclass
class Experiment:
    experiment_id: str
    name: str
    created_at_ms: int
    tags: Dict[str, str] = field(default_factory=dict)
    is_deleted: bool = False


class RunStore:
    """Not thread-safe: the server calls it under its lock."""

    def __init__(self, job_id: str, log: Callable[[str, str], None]) -> None:
        self._log = log
        self._warned: List[str] = []
        now_ms = to_ms(time.time())
        self.experiments: Dict[str, Experiment] = {
            DEFAULT_EXPERIMENT_ID: Experiment(DEFAULT_EXPERIMENT_ID, 'Default', now_ms),
            JOB_EXPERIMENT_ID: Experiment(JOB_EXPERIMENT_ID, job_id, now_ms),
        }
        self.runs: Dict[str, Run] = {}
        self.models: Dict[str, Dict[str, Any]] = {}
        self._prefixes: Dict[str, str] = {}
        self._samples: Deque[Sample] = deque()
        self._steps: Dict[Tuple[str, str], Tuple[float, bool]] = {}
        self.step: Optional[float] = None
        self.changes = 0
        """Grows with everything that is worth writing down."""

    def warn(self, message: str) -> None:
        """Logs once: a program repeats what it does."""
        if message not in self._warned and len(self._warned) < 20:
            self._warned.append(message)
            self._log(f'MLflow: {message}', 'WARNING')

    def create_experiment(self, name: str) -> Experiment:
        if any(one.name == name for one in self.experiments.values()):
            raise invalid_existing(name)
        if len(self.experiments) >= EXPERIMENT_COUNT_MAX:
            raise invalid(f'A job has at most {EXPERIMENT_COUNT_MAX} experiments.')
        number = 1 + max(int(one) for one in self.experiments)
        experiment = Experiment(str(number), name, to_ms(time.time()))
        self.experiments[experiment.experiment_id] = experiment
        self.changes += 1
        return experiment

    def experiment(self, experiment_id: str) -> Experiment:
        found = self.experiments.get(experiment_id)
        if found is None:
            raise not_found(f'Experiment {experiment_id[:80]}')
        return found

    def run(self, run_id: str) -> Run:
        found = self.runs.get(run_id)
        if found is None:
            raise not_found(f'Run {run_id[:80]}')
        return found

    def create_run(self, body: Mapping[str, Any]) -> Run:
        experiment = self.experiment(str(body.get('experiment_id') or DEFAULT_EXPERIMENT_ID))
        tags = dict(read_pair(tag) for tag in body.get('tags') or [])
        run_id = uuid.uuid4().hex
        name = str(body.get('run_name') or tags.get(NAME_TAG) or f'run-{run_id[:8]}')[:VALUE_CHARS_MAX]
        run = Run(
            run_id=run_id,
            experiment_id=experiment.experiment_id,
            name=name,
            user=str(body.get('user_id') or '')[:250],
            start_time_ms=read_int(body, 'start_time', to_ms(time.time())),
            prefix=self._choose_prefix(name, is_nested=PARENT_TAG in tags, run_id=run_id),
        )
        for pair in {**tags, NAME_TAG: name}.items():
            run.set_tag(*pair)
        self.runs[run_id] = run
        self._forget_oldest()
        self.changes += 1
        return run

    def continue_run(self, run: Run) -> None:
        """The program goes on with a run of an earlier attempt: its series keeps its name."""
        self._prefixes.setdefault(run.prefix, run.run_id)

    def add_metrics(self, run: Run, metrics: List[Metric]) -> None:
        for metric in metrics:
            if not run.set_metric(metric):
                self.warn(f'run {run.name[:80]} has too many metrics; those of other names are not kept.')
                continue
            name = f'{run.prefix}/{metric.key}' if run.prefix else metric.key
            if len(self._samples) >= SAMPLE_COUNT_MAX:
                self.warn('more values were logged than can be read in time; some are not kept.')
                self._samples.popleft()
            step = self._step_of(run.run_id, metric)
            if not run.prefix:
                self.step = step
            self._samples.append(Sample(name, metric.value, step, metric.timestamp_ms / 1_000))

    def take_samples(self) -> List[Sample]:
        """Returns what was logged since the last call."""
        samples, self._samples = list(self._samples), deque()
        return samples

    def _step_of(self, run_id: str, metric: Metric) -> float:
        """MLflow's client sends 0 for a value that was logged without a step: such values are counted, from 0."""
        key = (run_id, metric.key)
        last, is_counted = self._steps.get(key, (-1.0, True))
        if metric.step != 0:
            step, is_counted = float(metric.step), False
        else:
            step = last + 1 if is_counted else 0.0
        self._steps[key] = (step, is_counted)
        return step

    def _choose_prefix(self, name: str, is_nested: bool, run_id: str) -> str:
        """The first run that is not nested is the main one; the metrics of others have its name before them."""
        if not is_nested and '' not in self._prefixes:
            self._prefixes[''] = run_id
            return ''
        base = re.sub(r'[^\w.=+-]+', '-', name)[:PREFIX_CHARS_MAX].strip('-') or 'run'
        prefix, count = base, 1
        while prefix in self._prefixes:
            count += 1
            prefix = f'{base}-{count}'
        self._prefixes[prefix] = run_id
        return prefix

    def _forget_oldest(self) -> None:
        while len(self.runs) > RUN_COUNT_MAX:
            ended = (run for run in self.runs.values() if run.status != 'RUNNING' and run.prefix)
            oldest = next(ended, next(iter(self.runs.values())))
            del self.runs[oldest.run_id]
            self._steps = {key: value for key, value in self._steps.items() if key[0] != oldest.run_id}
            self.warn(f'the job has more than {RUN_COUNT_MAX} runs; the oldest ones are forgotten.')

    def to_json(self, mask: Callable[[str], str]) -> Dict[str, Any]:
        """Returns the document of the job directory (shared/protocol/mlflow-runs.ts): the newest runs that fit."""
        runs: List[Dict[str, Any]] = []
        size = 0
        for run in reversed(list(self.runs.values())):
            body = _run_to_json(run, mask)
            chars = sum(len(key) + len(value) + 8 for part in ('params', 'tags') for key, value in body[part].items())
            size += chars + 100 * len(body['metrics']) + 400
            if size > DOCUMENT_CHARS_MAX:
                self.warn('the parameters and tags of all runs exceed what is kept; the oldest runs are left out.')
                break
            runs.append(body)
        experiments = [
            {'experimentId': one.experiment_id, 'name': mask(one.name), 'createdAt': one.created_at_ms}
            for one in self.experiments.values()
        ]
        return {'version': 1, 'experiments': experiments, 'runs': runs[::-1]}

    def restore(self, body: Mapping[str, Any], now_ms: int) -> None:
        """
        Restores the runs of earlier attempts and boots. Those that had not ended were killed with their program. Raises
        ValueError, KeyError or TypeError, and has changed nothing then.
        """
        runs = [_run_of_json(one) for one in body['runs'][-RUN_COUNT_MAX:]]
        experiments = [
            Experiment(str(int(one['experimentId'])), str(one['name'])[:500], int(one['createdAt']))
            for one in body['experiments'][:EXPERIMENT_COUNT_MAX]
        ]
        for experiment in experiments:
            self.experiments.setdefault(experiment.experiment_id, experiment)
        for run in runs:
            if run.status == 'RUNNING':
                run.status, run.end_time_ms = 'KILLED', now_ms
            self.runs[run.run_id] = run


def invalid_existing(name: str) -> Exception:
    error = invalid(f'Experiment {name[:80]} already exists.')
    error.code = 'RESOURCE_ALREADY_EXISTS'
    return error


def _run_to_json(run: Run, mask: Callable[[str], str]) -> Dict[str, Any]:
    return {
        'runId': run.run_id,
        'experimentId': run.experiment_id,
        'name': mask(run.name),
        'user': run.user,
        'prefix': run.prefix,
        'status': run.status,
        'startTime': run.start_time_ms,
        'endTime': run.end_time_ms,
        'isDeleted': run.is_deleted,
        'params': {key: mask(value) for key, value in run.params.items()},
        'tags': {key: mask(value) for key, value in run.tags.items()},
        'metrics': {key: [one.to_json()['value'], one.timestamp_ms, one.step] for key, one in run.metrics.items()},
    }


def _run_of_json(body: Mapping[str, Any]) -> Run:
    run = Run(
        run_id=str(body['runId']),
        experiment_id=str(body['experimentId']),
        name=str(body['name']),
        user=str(body['user']),
        start_time_ms=int(body['startTime']),
        prefix=str(body['prefix']),
        status=str(body['status']),
        end_time_ms=None if body['endTime'] is None else int(body['endTime']),
        is_deleted=bool(body['isDeleted']),
    )
    if run.status not in STATUSES:
        raise ValueError(run.status)
    run.params = {str(key): str(value) for key, value in body['params'].items()}
    run.tags = {str(key): str(value) for key, value in body['tags'].items()}
    for key, (value, timestamp_ms, step) in body['metrics'].items():
        run.metrics[str(key)] = Metric(str(key), float(value), int(timestamp_ms), int(step))
    return run


def to_ms(seconds: float) -> int:
    return round(seconds * 1_000)
