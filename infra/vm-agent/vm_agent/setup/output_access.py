"""Whether the program may write where its arguments and variables say: checked before it is started."""

from typing import Callable, Iterable, Optional, Sequence, Tuple
from urllib.parse import quote, urlencode

from vm_agent.http.request import Request
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.saved_uris import is_outside
from vm_agent.storage.transfer.client import Storage, StorageRejected, raise_for_status

PERMISSION = 'storage.objects.create'
ROLE = 'roles/storage.objectUser'
FORBIDDEN = 403
POLICY = RetryPolicy(tries_max=3, seconds_max=15.0)


def check_outputs(
    outputs: Iterable[Tuple[str, str]], job_dir: str, storage: Storage, account: Callable[[], str], has_mount: bool
) -> None:
    """
    Raises ReplicaEnded for a path, given with its name, that cannot be written. `has_mount` is whether buckets are
    mounted at /gcs. A bucket that cannot be asked is left to the program.
    """
    for name, path in outputs:
        uri = f'gs://{path[len("/gcs/") :]}' if path.startswith('/gcs/') else path
        bucket, _, folder = uri[len('gs://') :].partition('/')
        if not is_outside(uri, job_dir):
            continue
        if path != uri and not has_mount:
            raise _unwritable(
                f'{name} is {path}, which no program can write here: only the job directory is writable by path, because '
                f'this machine does not have Cloud Storage FUSE. Write to {job_dir}/… or /gcs/{job_dir[len("gs://") :]}/…, '
                f'or use {uri} with a client of Cloud Storage.'
            )
        granted = _test_permissions(storage, bucket, [PERMISSION])
        is_denied = granted is not None and PERMISSION not in granted
        if is_denied and not _may_create(storage, bucket, folder):
            raise _unwritable(
                f'{name} is {path}, but {account()} may not create objects in {bucket}: it lacks {PERMISSION}. Grant it '
                f'{ROLE} on the bucket (gcloud storage buckets add-iam-policy-binding gs://{bucket} '
                f'--member=serviceAccount:{account()} --role={ROLE}), or write to the job directory, {job_dir}.'
            )


def _test_permissions(storage: Storage, bucket: str, permissions: Sequence[str]) -> Optional[Sequence[str]]:
    query = '&'.join(f'permissions={permission}' for permission in permissions)
    request = Request('GET', f'{storage.url}/storage/v1/b/{quote(bucket, safe="")}/iam/testPermissions?{query}', {})
    try:
        granted: Sequence[str] = (
            call_with_retry(lambda: raise_for_status(storage.call(request)).json(), POLICY).get('permissions') or ()
        )
        return granted
    except (TransientError, StorageRejected):
        return None


def _may_create(storage: Storage, bucket: str, folder: str) -> bool:
    """
    Whether a folder of a bucket may be written, or that is unknown. A role may be granted on a managed folder, or for
    some names: only a write itself tells (cloud.google.com/storage/docs/managed-folders). A resumable upload that is
    begun and canceled creates nothing.
    """
    name = f'{folder.strip("/")}/dropforge-write-check'.lstrip('/')
    query = urlencode({'uploadType': 'resumable', 'name': name})
    url = f'{storage.url}/upload/storage/v1/b/{quote(bucket, safe="")}/o?{query}'
    try:
        response = call_with_retry(lambda: storage.call(Request('POST', url, {}, b'')), POLICY)
        session = response.headers.get('location', '')
        if session.startswith(f'{storage.url}/'):
            storage.call(Request('DELETE', session, {}))
        return response.status != FORBIDDEN
    except TransientError:
        return True


def _unwritable(message: str) -> ReplicaEnded:
    return ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message))
