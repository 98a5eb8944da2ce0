"""Uploads of files, big ones in chunks (cloud.google.com/storage/docs/performing-resumable-uploads)."""

import json
import os
from pathlib import Path

from vm_agent.http_request import Request, Response
from vm_agent.retry import PassingFault, Patience, call_patiently
from vm_agent.storage import ObjectInfo, Storage, Upload, accept, read_object_info

CHUNK_BYTES = 8_388_608
SIMPLE_BYTES_MAX = CHUNK_BYTES


class FileChanged(Exception):
    """The program wrote to the file while it was being uploaded: the next round takes it."""


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
    session = call_patiently(lambda: _open_session(storage, upload, size_bytes), patience)
    with open(path, 'rb') as file:
        offset = 0
        while True:
            try:
                response = _send_chunk(storage, session, file.fileno(), size_bytes, offset)
            except PassingFault:
                response = call_patiently(lambda: _ask_progress(storage, session, size_bytes), patience)
            if response.status in (200, 201):
                return read_object_info(response.json())
            if response.status != 308:
                accept(response)
                raise PassingFault(f'The upload session answered {response.status}.')
            offset = _next_offset(response)


def _open_session(storage: Storage, upload: Upload, size_bytes: int) -> str:
    url = f'{storage.upload_url(upload.bucket)}?{upload.query("resumable")}'
    headers = {'Content-Type': 'application/json; charset=UTF-8', 'X-Upload-Content-Length': str(size_bytes)}
    response = accept(storage.call(Request('POST', url, headers, json.dumps(upload.resource()).encode())))
    session = response.headers.get('location')
    if session is None:
        raise PassingFault('Cloud Storage opened no upload session.')
    return session


def _send_chunk(storage: Storage, session: str, descriptor: int, size_bytes: int, start: int) -> Response:
    chunk = os.pread(descriptor, min(CHUNK_BYTES, size_bytes - start), start)
    end = start + len(chunk)
    if len(chunk) < min(CHUNK_BYTES, size_bytes - start):
        raise FileChanged()
    headers = {'Content-Range': f'bytes {start}-{end - 1}/{size_bytes}'}
    return storage.call(Request('PUT', session, headers, chunk, timeout_seconds=120))


def _ask_progress(storage: Storage, session: str, size_bytes: int) -> Response:
    return storage.call(Request('PUT', session, {'Content-Range': f'bytes */{size_bytes}'}, b''))


def _next_offset(response: Response) -> int:
    """`Range: bytes=0-42` says that 43 bytes were kept; no header says none."""
    kept = response.headers.get('range')
    return 0 if kept is None else int(kept.rsplit('-', 1)[-1]) + 1
