"""MLflow's REST API for experiments, runs and metrics (mlflow/protos/service.proto), as far as programs need it."""

import re
import time
from typing import Any, Callable, Dict, List, Mapping, Tuple

from vm_agent.tracking.error import TrackingError, invalid, not_found
from vm_agent.tracking.models import call_model, create_model
from vm_agent.tracking.run import STATUSES, Run, read_int, read_key, read_metric, read_pair, to_pairs
from vm_agent.tracking.run_store import Experiment, RunStore, to_ms
from vm_agent.tracking.search import page_of, select_runs

Body = Mapping[str, Any]
Answer = Dict[str, Any]
Endpoint = Callable[[RunStore, Body], Answer]

PREFIXES = re.compile(r'/(?:ajax-)?api/(?:2\.0|3\.0)/(?:preview/)?mlflow/')
# MLflow's own limits for one batch.
BATCH_COUNT_MAX = 1_000
RUNS_PER_PAGE_MAX = 1_000
INPUT_COUNT_MAX = 100
# Endpoints of the model registry.
REGISTRY = ('registered-models/', 'model-versions/')


def call(store: RunStore, method: str, path: str, body: Body) -> Answer:
    """Answers one request, whose `body` has the fields of a JSON object or of a query. Raises TrackingError."""
    prefix = PREFIXES.match(path)
    name = '' if prefix is None else path[prefix.end() :].strip('/')
    endpoint = ENDPOINTS.get((method, name))
    if endpoint is not None:
        return endpoint(store, body)
    match = re.fullmatch(r'logged-models/([\w-]{1,64})(?:/(params|tags|tags/.{1,250}|artifacts/directories))?', name)
    if match is not None:
        return call_model(store, method, (match[1], match[2]), body)
    # The client falls back to older endpoints, or warns and goes on, for this code.
    if name.startswith(REGISTRY):
        message = (
            'This job has no MLflow model registry. The model itself is saved in the job directory: leave out '
            'registered_model_name, or register it from there when the job has ended.'
        )
        raise TrackingError('ENDPOINT_NOT_FOUND', message, 404)
    raise TrackingError('ENDPOINT_NOT_FOUND', f'This job has no MLflow endpoint {method} {path[:200]}.', 404)


def _experiment(experiment: Experiment) -> Answer:
    return {
        'experiment': {
            'experiment_id': experiment.experiment_id,
            'name': experiment.name,
            'artifact_location': f'mlflow-artifacts:/experiments/{experiment.experiment_id}',
            'lifecycle_stage': 'deleted' if experiment.is_deleted else 'active',
            'creation_time': experiment.created_at_ms,
            'last_update_time': experiment.created_at_ms,
            'tags': to_pairs(experiment.tags),
        }
    }


def _create_experiment(store: RunStore, body: Body) -> Answer:
    name = body.get('name')
    if not isinstance(name, str) or not 0 < len(name) <= 500:
        raise invalid('The name of an experiment has 1 to 500 characters.')
    experiment = store.create_experiment(name)
    for tag in _list(body, 'tags')[:100]:
        experiment.tags.update([read_pair(tag)])
    return {'experiment_id': experiment.experiment_id}


def _get_experiment(store: RunStore, body: Body) -> Answer:
    return _experiment(store.experiment(_text(body, 'experiment_id')))


def _get_experiment_by_name(store: RunStore, body: Body) -> Answer:
    name = _text(body, 'experiment_name')
    for experiment in store.experiments.values():
        if experiment.name == name:
            return _experiment(experiment)
    raise not_found(f'Experiment {name[:80]}')


def _search_experiments(store: RunStore, body: Body) -> Answer:
    name = re.search(r"name\s*(?:=|LIKE|ILIKE)\s*'([^']*)'", str(body.get('filter') or ''), re.IGNORECASE)
    stage = str(body.get('view_type') or 'ACTIVE_ONLY')
    found = [
        one
        for one in store.experiments.values()
        if (stage == 'ALL' or one.is_deleted == (stage == 'DELETED_ONLY'))
        and (name is None or name[1].strip('%').lower() in one.name.lower())
    ]
    page, token = page_of(found, body, RUNS_PER_PAGE_MAX)
    return {'experiments': [_experiment(one)['experiment'] for one in page], **token}


def _set_experiment_tag(store: RunStore, body: Body) -> Answer:
    tags = store.experiment(_text(body, 'experiment_id')).tags
    if len(tags) < 100:
        tags.update([read_pair(body)])
    return {}


def _delete_experiment_tag(store: RunStore, body: Body) -> Answer:
    store.experiment(_text(body, 'experiment_id')).tags.pop(read_key(body), None)
    return {}


def _update_experiment(store: RunStore, body: Body) -> Answer:
    store.experiment(_text(body, 'experiment_id')).name = _text(body, 'new_name')[:500]
    return {}


def _set_stage_of_experiment(is_deleted: bool) -> Endpoint:
    def set_stage(store: RunStore, body: Body) -> Answer:
        store.experiment(_text(body, 'experiment_id')).is_deleted = is_deleted
        return {}

    return set_stage


def _create_run(store: RunStore, body: Body) -> Answer:
    return {'run': store.create_run(body).to_json()}


def _get_run(store: RunStore, body: Body) -> Answer:
    return {'run': _run(store, body).to_json()}


def _update_run(store: RunStore, body: Body) -> Answer:
    run = _run(store, body)
    status = body.get('status')
    if status is not None:
        # The client of some languages sends the number of the enumeration, from 1.
        name = STATUSES[status - 1] if isinstance(status, int) and 0 < status <= len(STATUSES) else status
        if name not in STATUSES:
            raise invalid(f'The status of a run is one of {", ".join(STATUSES)}.')
        run.status = str(name)
        if name == 'RUNNING':
            store.continue_run(run)
            run.end_time_ms = None
    if body.get('end_time') is not None and run.status != 'RUNNING':
        run.end_time_ms = read_int(body, 'end_time', 0)
    if body.get('run_name'):
        run.set_tag('mlflow.runName', str(body['run_name'])[:250])
    store.changes += 1
    return {'run_info': run.info()}


def _search_runs(store: RunStore, body: Body) -> Answer:
    experiments = {str(one) for one in _list(body, 'experiment_ids')}
    stage = str(body.get('run_view_type') or 'ACTIVE_ONLY')
    runs = [
        run
        for run in store.runs.values()
        if run.experiment_id in experiments and (stage == 'ALL' or run.is_deleted == (stage == 'DELETED_ONLY'))
    ]
    found = select_runs(runs, str(body.get('filter') or ''), _list(body, 'order_by'))
    page, token = page_of(found, body, RUNS_PER_PAGE_MAX)
    return {'runs': [run.to_json() for run in page], **token}


def _set_stage_of_run(is_deleted: bool) -> Endpoint:
    def set_stage(store: RunStore, body: Body) -> Answer:
        _run(store, body).is_deleted = is_deleted
        store.changes += 1
        return {}

    return set_stage


def _log_metric(store: RunStore, body: Body) -> Answer:
    store.add_metrics(_run(store, body), [read_metric(body, to_ms(time.time()))])
    return {}


def _log_batch(store: RunStore, body: Body) -> Answer:
    run = _run(store, body)
    items = {name: _list(body, name) for name in ('metrics', 'params', 'tags')}
    count = sum(len(one) for one in items.values())
    if count > BATCH_COUNT_MAX:
        raise invalid(f'The batch has {count} values; the most is {BATCH_COUNT_MAX}.')
    now_ms = to_ms(time.time())
    metrics = [read_metric(one, now_ms) for one in items['metrics']]
    params, tags = [read_pair(one) for one in items['params']], [read_pair(one) for one in items['tags']]
    store.add_metrics(run, metrics)
    is_kept = [run.set_param(*pair) for pair in params] + [run.set_tag(*pair) for pair in tags]
    if not all(is_kept):
        store.warn(f'run {run.name[:80]} has too many parameters or tags; the rest is not kept.')
    store.changes += bool(params or tags)
    return {}


def _log_parameter(store: RunStore, body: Body) -> Answer:
    return _log_batch(store, {**body, 'metrics': [], 'params': [body], 'tags': []})


def _set_tag(store: RunStore, body: Body) -> Answer:
    return _log_batch(store, {**body, 'metrics': [], 'params': [], 'tags': [body]})


def _delete_tag(store: RunStore, body: Body) -> Answer:
    if _run(store, body).tags.pop(read_key(body), None) is None:
        raise not_found(f'The tag {read_key(body)[:80]}')
    store.changes += 1
    return {}


def _log_inputs(store: RunStore, body: Body) -> Answer:
    run = _run(store, body)
    for given in _list(body, 'datasets')[:INPUT_COUNT_MAX]:
        dataset = given.get('dataset') if isinstance(given, dict) else None
        if isinstance(dataset, dict) and len(run.inputs) < INPUT_COUNT_MAX:
            # A schema or profile may have megabytes.
            kept = {key: str(value)[:2_000] for key, value in dataset.items() if key not in ('profile',)}
            run.inputs.append({'dataset': kept, 'tags': (given.get('tags') or [])[:20]})
    return {}


def _log_outputs(store: RunStore, body: Body) -> Answer:
    run = _run(store, body)
    run.model_outputs += [one for one in _list(body, 'models') if isinstance(one, dict)][:INPUT_COUNT_MAX]
    del run.model_outputs[INPUT_COUNT_MAX:]
    return {}


def _log_model(store: RunStore, body: Body) -> Answer:
    _run(store, body)
    return {}


def _get_history(store: RunStore, body: Body) -> Answer:
    history = _run(store, body).history.get(str(body.get('metric_key') or ''))
    page, token = page_of(list(history or ()), body, 25_000)
    return {'metrics': [metric.to_json() for metric in page], **token}


def _search_models(store: RunStore, body: Body) -> Answer:
    experiments = {str(one) for one in _list(body, 'experiment_ids')}
    return {'models': [one for one in store.models.values() if one['info']['experiment_id'] in experiments]}


def _run(store: RunStore, body: Body) -> Run:
    return store.run(str(body.get('run_id') or body.get('run_uuid') or ''))


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, (str, int)) or value == '':
        raise invalid(f'{name} is missing.')
    return str(value)


def _list(body: Body, name: str) -> List[Any]:
    value = body.get(name) or []
    value = value if isinstance(value, list) else [value]
    if name in ('metrics', 'params', 'tags') and not all(isinstance(one, dict) for one in value):
        raise invalid(f'{name} is a list of objects.')
    return value


ENDPOINTS: Mapping[Tuple[str, str], Endpoint] = {
    ('POST', 'experiments/create'): _create_experiment,
    ('GET', 'experiments/get'): _get_experiment,
    ('GET', 'experiments/get-by-name'): _get_experiment_by_name,
    ('POST', 'experiments/search'): _search_experiments,
    ('GET', 'experiments/search'): _search_experiments,
    ('POST', 'experiments/set-experiment-tag'): _set_experiment_tag,
    ('POST', 'experiments/delete-experiment-tag'): _delete_experiment_tag,
    ('POST', 'experiments/update'): _update_experiment,
    ('POST', 'experiments/delete'): _set_stage_of_experiment(True),
    ('POST', 'experiments/restore'): _set_stage_of_experiment(False),
    ('POST', 'runs/create'): _create_run,
    ('GET', 'runs/get'): _get_run,
    ('POST', 'runs/update'): _update_run,
    ('POST', 'runs/search'): _search_runs,
    ('POST', 'runs/delete'): _set_stage_of_run(True),
    ('POST', 'runs/restore'): _set_stage_of_run(False),
    ('POST', 'runs/log-metric'): _log_metric,
    ('POST', 'runs/log-batch'): _log_batch,
    ('POST', 'runs/log-parameter'): _log_parameter,
    ('POST', 'runs/set-tag'): _set_tag,
    ('POST', 'runs/delete-tag'): _delete_tag,
    ('POST', 'runs/log-inputs'): _log_inputs,
    ('POST', 'runs/outputs'): _log_outputs,
    ('POST', 'runs/log-model'): _log_model,
    ('GET', 'metrics/get-history'): _get_history,
    ('POST', 'logged-models'): create_model,
    ('POST', 'logged-models/search'): _search_models,
}
