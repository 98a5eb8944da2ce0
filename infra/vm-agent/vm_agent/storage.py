"""The Cloud Storage JSON API, as far as the agent needs it (cloud.google.com/storage/docs/json_api/v1)."""

import base64
import hashlib
import json
import threading
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple
from urllib.parse import quote, urlencode

from vm_agent import crc32c
from vm_agent.http_request import Request, Response, explain, open_response, send
from vm_agent.retry import PassingFault, Patience, call_patiently
from vm_agent.tokens import CachedToken

CHUNK_BYTES = 1_048_576
LIST_PAGE_COUNT = 1_000
JOB_KEY = 'dropforge-job'
ATTEMPT_KEY = 'dropforge-attempt'


class StorageRefused(Exception):
    """Cloud Storage said no, and will say so again."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f'Cloud Storage answered {status}: {message}')
        self.status = status


class PreconditionFailed(Exception):
    """Another generation of the object is there."""


class ContentDiffers(Exception):
    """What arrived is not what was stored, by size or by checksum."""


@dataclass(frozen=True)
class Author:
    """The attempt that writes, or wrote, an object."""

    job_id: str
    attempt: int

    def fences(self, other: 'Author') -> bool:
        """Only a later attempt of the same job does: another job may take the directory over and go on in it."""
        return self.job_id == other.job_id and self.attempt > other.attempt


@dataclass(frozen=True)
class ObjectInfo:
    bucket: str
    name: str
    generation: str
    size_bytes: int
    crc32c: str
    md5: Optional[str]
    author: Optional[Author]
    """None where no agent wrote it."""


@dataclass(frozen=True)
class Upload:
    """One object to be written: only over `if_generation`, where '0' stands for no object."""

    bucket: str
    name: str
    if_generation: str
    author: Author

    def query(self, upload_type: str) -> str:
        return urlencode({'uploadType': upload_type, 'name': self.name, 'ifGenerationMatch': self.if_generation})

    def resource(self) -> Dict[str, Any]:
        metadata = {JOB_KEY: self.author.job_id, ATTEMPT_KEY: str(self.author.attempt)}
        return {'name': self.name, 'metadata': metadata}


class Storage:
    def __init__(self, url: str, token: CachedToken) -> None:
        self.url = url
        self._token = token

    def stat(self, bucket: str, name: str) -> Optional[ObjectInfo]:
        """The live object, or None. One try: raises PassingFault."""
        response = self.call(Request('GET', self._object_url(bucket, name), {}))
        return None if response.status == 404 else read_object_info(accept(response).json())

    def list(self, bucket: str, prefix: str, patience: Patience) -> Iterator[ObjectInfo]:
        """The live objects below the prefix, page by page."""
        page_token: Optional[str] = None
        while True:
            query = {'prefix': prefix, 'maxResults': str(LIST_PAGE_COUNT)}
            if page_token is not None:
                query['pageToken'] = page_token
            page = self._list_page(bucket, query, patience)
            for item in page.get('items', []):
                yield read_object_info(item)
            page_token = page.get('nextPageToken')
            if not page_token:
                return

    def _list_page(self, bucket: str, query: Mapping[str, str], patience: Patience) -> Dict[str, Any]:
        url = f'{self.url}/storage/v1/b/{quote(bucket, safe="")}/o?{urlencode(query)}'
        page: Dict[str, Any] = call_patiently(lambda: accept(self.call(Request('GET', url, {}))).json(), patience)
        return page

    def read(self, bucket: str, name: str, patience: Patience) -> Optional[Tuple[bytes, str]]:
        """The bytes and the generation of a small object, or None where there is none."""
        url = f'{self._object_url(bucket, name)}?alt=media'
        response = call_patiently(lambda: self.call(Request('GET', url, {})), patience)
        if response.status == 404:
            return None
        return accept(response).body, response.headers.get('x-goog-generation', '0')

    def download(self, expected: ObjectInfo, target: Path, patience: Patience) -> None:
        """
        Writes that generation of an object to a file, resuming where a connection broke: patience begins anew whenever
        bytes have arrived. Raises StorageRefused, ContentDiffers when size or checksum are others than expected, or the
        last PassingFault.
        """
        url = f'{self._object_url(expected.bucket, expected.name)}?alt=media&generation={expected.generation}'
        target.unlink(missing_ok=True)
        target.touch()
        call_patiently(
            lambda: self._download_rest(url, expected.size_bytes, target, patience.cancelled),
            patience,
            progress=lambda: target.stat().st_size,
        )
        _verify(expected, target)

    def insert(self, upload: Upload, body: bytes) -> ObjectInfo:
        """Writes a small object. One try: raises PassingFault, PreconditionFailed or StorageRefused."""
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode('ascii')
        boundary = uuid.uuid4().hex
        head = json.dumps({**upload.resource(), 'md5Hash': md5}, allow_nan=False)
        parts = (
            f'--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{head}\r\n'
            f'--{boundary}\r\nContent-Type: application/octet-stream\r\n\r\n'
        )
        url = f'{self.upload_url(upload.bucket)}?{upload.query("multipart")}'
        headers = {'Content-Type': f'multipart/related; boundary={boundary}'}
        response = self.call(Request('POST', url, headers, parts.encode() + body + f'\r\n--{boundary}--\r\n'.encode()))
        return read_object_info(accept(response).json())

    def upload_url(self, bucket: str) -> str:
        return f'{self.url}/upload/storage/v1/b/{quote(bucket, safe="")}/o'

    def call(self, request: Request) -> Response:
        """One request in the VM's name."""
        return self._check_token(send(self.signed(request)))

    def _check_token(self, response: Response) -> Response:
        """Raises PassingFault where the token was not accepted: the next try has a new one."""
        if response.status == 401:
            self._token.forget()
            raise PassingFault(f'Cloud Storage did not accept the access token: {explain(response)}')
        return response

    def signed(self, request: Request) -> Request:
        return replace(request, headers={**request.headers, 'Authorization': self._token.bearer()})

    def _download_rest(self, url: str, size_bytes: int, target: Path, cancelled: threading.Event) -> None:
        with open(target, 'ab') as file:
            start = file.tell()
            if start >= size_bytes:
                return
            headers = {'Range': f'bytes={start}-'} if start else {}
            with open_response(self.signed(Request('GET', url, headers))) as response:
                if response.status not in (200, 206):
                    body = response.read(CHUNK_BYTES)
                    accept(self._check_token(Response(response.status, {}, body)))
                if response.status == 200:
                    file.truncate(0)
                while chunk := response.read(CHUNK_BYTES):
                    file.write(chunk)
                    if cancelled.is_set():
                        raise PassingFault('The download was cut short: the VM is stopping.')
                    if file.tell() > size_bytes:
                        raise ContentDiffers(f'More than the expected {size_bytes} bytes arrived.')
            if file.tell() < size_bytes:
                raise PassingFault(f'The download ended after {file.tell()} of {size_bytes} bytes.')

    def _object_url(self, bucket: str, name: str) -> str:
        return f'{self.url}/storage/v1/b/{quote(bucket, safe="")}/o/{quote(name, safe="")}'


def accept(response: Response) -> Response:
    """The response where it is a success. Raises PreconditionFailed or StorageRefused otherwise."""
    if response.status == 412:
        raise PreconditionFailed()
    if response.status >= 300:
        raise StorageRefused(response.status, explain(response))
    return response


def read_object_info(item: Mapping[str, Any]) -> ObjectInfo:
    metadata = item.get('metadata', {})
    attempt = str(metadata.get(ATTEMPT_KEY, ''))
    return ObjectInfo(
        bucket=item['bucket'],
        name=item['name'],
        generation=str(item['generation']),
        size_bytes=int(item['size']),
        crc32c=item.get('crc32c', ''),
        md5=item.get('md5Hash'),
        author=Author(str(metadata.get(JOB_KEY, '')), int(attempt)) if attempt.isdecimal() else None,
    )


def _verify(expected: ObjectInfo, path: Path) -> None:
    size_bytes = path.stat().st_size
    if size_bytes != expected.size_bytes:
        raise ContentDiffers(f'{size_bytes} bytes arrived where {expected.size_bytes} were expected.')
    # MD5 runs in C, CRC32C in pure Python at some 15 MB/s; composed objects have no MD5.
    md5, crc = hashlib.md5(usedforsecurity=False), 0
    with open(path, 'rb') as file:
        while chunk := file.read(CHUNK_BYTES):
            if expected.md5 is None:
                crc = crc32c.extend(crc, chunk)
            else:
                md5.update(chunk)
    name, found, stated = (
        ('CRC32C', crc32c.encode(crc), expected.crc32c)
        if expected.md5 is None
        else ('MD5', base64.b64encode(md5.digest()).decode('ascii'), expected.md5)
    )
    if stated and found != stated:
        raise ContentDiffers(f'The {name} of what arrived is {found}, not {stated}.')
