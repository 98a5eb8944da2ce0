"""Uploads of files, large ones in chunks (cloud.google.com/storage/docs/performing-resumable-uploads)."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from vm_agent.http.request import Request, Response
from vm_agent.http.retry import RetryPolicy, TransientError, backoff_delays, call_with_retry
from vm_agent.storage.client import ObjectInfo, Storage, Upload, parse_object_info, raise_for_status

CHUNK_BYTES = 8_388_608
SIMPLE_BYTES_MAX = CHUNK_BYTES
CHUNK_SECONDS_MAX = 120
# Sessions of one upload, and consecutive chunks of which one session may persist nothing.
SESSIONS_MAX = 4
STALLS_MAX = 5


class FileChanged(Exception):
    """The program wrote to the file during its upload; the next sync round uploads it again."""


class _SessionLost(Exception):
    """
    The session accepts no more data; a new one may. Google's documentation says to start over after 404 and 410
    (cloud.google.com/storage/docs/json_api/v1/status-codes#410_Gone).
    """


@dataclass(frozen=True)
class _Session:
    storage: Storage
    url: str
    descriptor: int
    """File descriptor of the uploaded file."""
    size_bytes: int


def upload_file(storage: Storage, upload: Upload, path: Path, policy: RetryPolicy) -> ObjectInfo:
    """
    Writes a file's bytes to an object. Raises PreconditionFailed, StorageRejected, FileChanged, FileNotFoundError, or
    the last TransientError.
    """
    size_bytes = path.stat().st_size
    if size_bytes <= SIMPLE_BYTES_MAX:
        body = path.read_bytes()
        info = call_with_retry(lambda: storage.insert(upload, body), policy)
        size_bytes = len(body)
    else:
        info = _upload_in_chunks(storage, upload, path, policy)
    if info.size_bytes != size_bytes:
        raise FileChanged()
    return info


def _upload_in_chunks(storage: Storage, upload: Upload, path: Path, policy: RetryPolicy) -> ObjectInfo:
    size_bytes = path.stat().st_size
    loss = ''
    with open(path, 'rb') as file:
        for _, delay_seconds in zip(range(SESSIONS_MAX), backoff_delays()):
            url = call_with_retry(lambda: _open_session(storage, upload, size_bytes), policy)
            try:
                return _send_chunks(_Session(storage, url, file.fileno(), size_bytes), policy)
            except _SessionLost as lost:
                loss = str(lost)
            if policy.cancelled.wait(delay_seconds):
                break
    raise TransientError(f'The upload failed in {SESSIONS_MAX} sessions or was canceled: {loss}')


def _send_chunks(session: _Session, policy: RetryPolicy) -> ObjectInfo:
    offset = furthest = stalls = 0
    delays = backoff_delays()
    while True:
        response = call_with_retry(lambda: _advance(session, offset), policy)
        if response.status in (200, 201):
            return parse_object_info(response.json())
        if response.status in (404, 410):
            raise _SessionLost(f'Cloud Storage answered {response.status} for the upload session.')
        if response.status != 308:
            raise_for_status(response)
            raise TransientError(f'The upload session answered {response.status}.')
        offset = _next_offset(response)
        if offset > furthest:
            furthest, stalls, delays = offset, 0, backoff_delays()
            continue
        stalls += 1
        if stalls >= STALLS_MAX:
            raise _SessionLost(f'The upload session stalled after {furthest} of {session.size_bytes} bytes.')
        if policy.cancelled.wait(next(delays)):
            raise TransientError('The upload was canceled.')


def _open_session(storage: Storage, upload: Upload, size_bytes: int) -> str:
    url = f'{storage.upload_url(upload.bucket)}?{upload.query("resumable")}'
    headers = {'Content-Type': 'application/json; charset=UTF-8', 'X-Upload-Content-Length': str(size_bytes)}
    body = json.dumps(upload.resource(), allow_nan=False).encode()
    response = raise_for_status(storage.call(Request('POST', url, headers, body)))
    session = response.headers.get('location')
    if session is None:
        raise TransientError('Cloud Storage did not open an upload session.')
    return session


def _advance(session: _Session, offset: int) -> Response:
    """
    Sends a chunk. If that fails, returns the session's status instead, unless it has persisted nothing of the chunk:
    then raises TransientError.
    """
    try:
        return _send_chunk(session, offset)
    except TransientError:
        response = _query_status(session)
        if response.status == 308 and _next_offset(response) == offset:
            raise
        return response


def _send_chunk(session: _Session, start: int) -> Response:
    chunk_bytes = min(CHUNK_BYTES, session.size_bytes - start)
    chunk = os.pread(session.descriptor, chunk_bytes, start)
    if len(chunk) < chunk_bytes:
        raise FileChanged()
    headers = {'Content-Range': f'bytes {start}-{start + len(chunk) - 1}/{session.size_bytes}'}
    return session.storage.call(Request('PUT', session.url, headers, chunk, timeout_seconds=CHUNK_SECONDS_MAX))


def _query_status(session: _Session) -> Response:
    return session.storage.call(Request('PUT', session.url, {'Content-Range': f'bytes */{session.size_bytes}'}, b''))


def _next_offset(response: Response) -> int:
    """`Range: bytes=0-42` means that 43 bytes are persisted; no header, that none are."""
    persisted = response.headers.get('range')
    return 0 if persisted is None else int(persisted.rsplit('-', 1)[-1]) + 1
