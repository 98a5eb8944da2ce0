"""Logged models of MLflow 3: a folder of artifacts with a name and a state."""

import time
import uuid
from typing import Any, Dict, Mapping, Optional, Tuple

from vm_agent.tracking.error import TrackingError, invalid, not_found
from vm_agent.tracking.run import read_pair, to_pairs
from vm_agent.tracking.run_store import DEFAULT_EXPERIMENT_ID, MODEL_COUNT_MAX, RunStore, to_ms

STATUSES = (
    'LOGGED_MODEL_STATUS_UNSPECIFIED',
    'LOGGED_MODEL_PENDING',
    'LOGGED_MODEL_READY',
    'LOGGED_MODEL_UPLOAD_FAILED',
)
PAIR_COUNT_MAX = 500


def create_model(store: RunStore, body: Mapping[str, Any]) -> Dict[str, Any]:
    """Raises TrackingError."""
    if len(store.models) >= MODEL_COUNT_MAX:
        raise invalid(f'A job has at most {MODEL_COUNT_MAX} logged models.')
    model_id, now_ms = f'm-{uuid.uuid4().hex}', to_ms(time.time())
    info = {
        'model_id': model_id,
        'experiment_id': str(body.get('experiment_id') or DEFAULT_EXPERIMENT_ID),
        'name': str(body.get('name') or f'model-{model_id[2:10]}')[:500],
        'creation_timestamp_ms': now_ms,
        'last_updated_timestamp_ms': now_ms,
        'artifact_uri': f'mlflow-artifacts:/models/{model_id}',
        'status': STATUSES[1],
        'model_type': str(body.get('model_type') or '')[:500],
        'source_run_id': str(body.get('source_run_id') or '')[:64],
        'tags': to_pairs(dict(read_pair(one) for one in (body.get('tags') or [])[:PAIR_COUNT_MAX])),
    }
    params = to_pairs(dict(read_pair(one) for one in (body.get('params') or [])[:PAIR_COUNT_MAX]))
    store.models[model_id] = {'info': info, 'data': {'params': params, 'metrics': []}}
    return {'model': store.models[model_id]}


def call_model(
    store: RunStore, method: str, target: Tuple[str, Optional[str]], body: Mapping[str, Any]
) -> Dict[str, Any]:
    """`target` is a model's id and what of it is named. Raises TrackingError."""
    model_id, part = target
    model = store.models.get(model_id)
    if model is None:
        raise not_found(f'Model {model_id}')
    info, data = model['info'], model['data']
    info['last_updated_timestamp_ms'] = to_ms(time.time())
    if (method, part) == ('DELETE', None):
        del store.models[model_id]
        return {}
    if (method, part) == ('PATCH', None):
        info['status'] = body.get('status') if body.get('status') in STATUSES else STATUSES[2]
    elif (method, part) == ('POST', 'params'):
        data['params'] = _merge(data['params'], body.get('params'))
    elif (method, part) == ('PATCH', 'tags'):
        info['tags'] = _merge(info['tags'], body.get('tags'))
    elif method == 'DELETE' and part is not None and part.startswith('tags/'):
        info['tags'] = [tag for tag in info['tags'] if tag['key'] != part[len('tags/') :]]
    elif (method, part) != ('GET', None):
        raise TrackingError('ENDPOINT_NOT_FOUND', f'A logged model has no {method} {part}.', 404)
    return {'model': model}


def _merge(pairs: Any, added: Any) -> Any:
    merged = {one['key']: one['value'] for one in pairs}
    merged.update(read_pair(one) for one in (added or [])[:PAIR_COUNT_MAX])
    return to_pairs(dict(list(merged.items())[:PAIR_COUNT_MAX]))
