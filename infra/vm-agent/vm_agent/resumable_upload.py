"""Uploads of files, big ones in chunks (cloud.google.com/storage/docs/performing-resumable-uploads)."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from vm_agent.http_request import Request, Response
from vm_agent.retry import PassingFault, Patience, backoff_delays, call_patiently
from vm_agent.storage import ObjectInfo, Storage, Upload, accept, read_object_info

CHUNK_BYTES = 8_388_608
SIMPLE_BYTES_MAX = CHUNK_BYTES


# So many sessions one upload may have, and so often in a row one of them may take a chunk and keep nothing of it.
SESSIONS_MAX = 4
STALLS_MAX = 5


class FileChanged(Exception):
    """The program wrote to the file while it was being uploaded: the next round takes it."""


class _SessionLost(Exception):
    """
    The session takes nothing more, a new one may: Google says to begin anew after 404 and 410
    (cloud.google.com/storage/docs/json_api/v1/status-codes#410_Gone).
    """


@dataclass(frozen=True)
class _Session:
    storage: Storage
    url: str
    descriptor: int
    """Of the file that is uploaded."""
    size_bytes: int


def upload_file(storage: Storage, upload: Upload, path: Path, patience: Patience) -> ObjectInfo:
    """
    Writes a file's bytes to an object, and repeats what passes. Raises PreconditionFailed, StorageRefused, FileChanged,
    FileNotFoundError, or the last PassingFault.
    """
    size_bytes = path.stat().st_size
    if size_bytes <= SIMPLE_BYTES_MAX:
        body = path.read_bytes()
        info = call_patiently(lambda: storage.insert(upload, body), patience)
        size_bytes = len(body)
    else:
        info = _upload_in_chunks(storage, upload, path, patience)
    if info.size_bytes != size_bytes:
        raise FileChanged()
    return info


def _upload_in_chunks(storage: Storage, upload: Upload, path: Path, patience: Patience) -> ObjectInfo:
    size_bytes = path.stat().st_size
    loss = ''
    with open(path, 'rb') as file:
        for _, delay_seconds in zip(range(SESSIONS_MAX), backoff_delays()):
            url = call_patiently(lambda: _open_session(storage, upload, size_bytes), patience)
            try:
                return _fill(_Session(storage, url, file.fileno(), size_bytes), patience)
            except _SessionLost as lost:
                loss = str(lost)
            if patience.cancelled.wait(delay_seconds):
                break
    raise PassingFault(f'The upload was begun anew as often as is allowed: {loss}')


def _fill(session: _Session, patience: Patience) -> ObjectInfo:
    offset = furthest = stalls = 0
    delays = backoff_delays()
    while True:
        response = call_patiently(lambda: _advance(session, offset), patience)
        if response.status in (200, 201):
            return read_object_info(response.json())
        if response.status in (404, 410):
            raise _SessionLost(f'Cloud Storage answered {response.status} for the upload session.')
        if response.status != 308:
            accept(response)
            raise PassingFault(f'The upload session answered {response.status}.')
        offset = _next_offset(response)
        if offset > furthest:
            furthest, stalls, delays = offset, 0, backoff_delays()
            continue
        stalls += 1
        if stalls >= STALLS_MAX:
            raise _SessionLost(f'The upload session kept {furthest} of {session.size_bytes} bytes and no more.')
        if patience.cancelled.wait(next(delays)):
            raise PassingFault('The upload was cut short.')


def _open_session(storage: Storage, upload: Upload, size_bytes: int) -> str:
    url = f'{storage.upload_url(upload.bucket)}?{upload.query("resumable")}'
    headers = {'Content-Type': 'application/json; charset=UTF-8', 'X-Upload-Content-Length': str(size_bytes)}
    body = json.dumps(upload.resource(), allow_nan=False).encode()
    response = accept(storage.call(Request('POST', url, headers, body)))
    session = response.headers.get('location')
    if session is None:
        raise PassingFault('Cloud Storage opened no upload session.')
    return session


def _advance(session: _Session, offset: int) -> Response:
    """Sends a chunk; where that fails, what was kept of it counts. Raises PassingFault where that is nothing."""
    try:
        return _send_chunk(session, offset)
    except PassingFault:
        response = _ask_progress(session)
        if response.status == 308 and _next_offset(response) == offset:
            raise
        return response


def _send_chunk(session: _Session, start: int) -> Response:
    wanted_bytes = min(CHUNK_BYTES, session.size_bytes - start)
    chunk = os.pread(session.descriptor, wanted_bytes, start)
    if len(chunk) < wanted_bytes:
        raise FileChanged()
    headers = {'Content-Range': f'bytes {start}-{start + len(chunk) - 1}/{session.size_bytes}'}
    return session.storage.call(Request('PUT', session.url, headers, chunk, timeout_seconds=120))


def _ask_progress(session: _Session) -> Response:
    return session.storage.call(Request('PUT', session.url, {'Content-Range': f'bytes */{session.size_bytes}'}, b''))


def _next_offset(response: Response) -> int:
    """`Range: bytes=0-42` says that 43 bytes were kept; no header says none."""
    kept = response.headers.get('range')
    return 0 if kept is None else int(kept.rsplit('-', 1)[-1]) + 1
