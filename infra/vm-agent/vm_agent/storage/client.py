"""A client of the Cloud Storage JSON API (cloud.google.com/storage/docs/json_api/v1)."""

import base64
import hashlib
import json
import threading
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple
from urllib.parse import quote, urlencode

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.request import Request, Response, error_message, open_response, send
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage import crc32c

CHUNK_BYTES = 1_048_576
LIST_PAGE_COUNT = 1_000
JOB_KEY = 'dropforge-job'
ATTEMPT_KEY = 'dropforge-attempt'


class StorageRejected(Exception):
    """Cloud Storage rejected the request; a retry would be rejected, too."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f'Cloud Storage answered {status}: {message}')
        self.status = status


class PreconditionFailed(Exception):
    """The live object has another generation than expected."""


class ContentMismatch(Exception):
    """The downloaded bytes are not the stored ones, by size or by checksum."""


@dataclass(frozen=True)
class Author:
    """The attempt that writes, or wrote, an object."""

    job_id: str
    attempt: int

    def fences(self, other: 'Author') -> bool:
        """True only for a later attempt of the same job: another job may take over the directory and continue in it."""
        return self.job_id == other.job_id and self.attempt > other.attempt


@dataclass(frozen=True)
class ObjectInfo:
    bucket: str
    name: str
    generation: str
    size_bytes: int
    crc32c: str
    """Empty if unknown."""
    md5: Optional[str]
    author: Optional[Author]
    """None if no agent wrote it."""


@dataclass(frozen=True)
class Upload:
    """One object to write: only if its live generation is `if_generation`, where '0' means that it does not exist."""

    bucket: str
    name: str
    if_generation: str
    author: Author

    def query(self, upload_type: str) -> str:
        return urlencode({'uploadType': upload_type, 'name': self.name, 'ifGenerationMatch': self.if_generation})

    def resource(self) -> Dict[str, Any]:
        metadata = {JOB_KEY: self.author.job_id, ATTEMPT_KEY: str(self.author.attempt)}
        return {'name': self.name, 'metadata': metadata}


def split_gs_uri(uri: str) -> Tuple[str, str]:
    """Splits `gs://bucket/a/b` into ('bucket', 'a/b'). Raises ValueError if it is not a gs:// URI."""
    if not uri.startswith('gs://'):
        raise ValueError(f'{uri!r} is not a gs:// URI')
    bucket, _, name = uri[len('gs://') :].partition('/')
    return bucket, name


class Storage:
    def __init__(self, url: str, token: CachedToken) -> None:
        """`url` has no trailing slash."""
        self.url = url
        self._token = token

    def stat(self, bucket: str, name: str) -> Optional[ObjectInfo]:
        """Returns the live object, or None. Does not retry: raises TransientError or StorageRejected."""
        response = self.call(Request('GET', self._object_url(bucket, name), {}))
        return None if response.status == 404 else parse_object_info(raise_for_status(response).json())

    def list(self, bucket: str, prefix: str, policy: RetryPolicy) -> Iterator[ObjectInfo]:
        """Yields the live objects below the prefix, page by page."""
        page_token: Optional[str] = None
        while True:
            query = {'prefix': prefix, 'maxResults': str(LIST_PAGE_COUNT)}
            if page_token is not None:
                query['pageToken'] = page_token
            page = self._list_page(bucket, query, policy)
            for item in page.get('items', []):
                yield parse_object_info(item)
            page_token = page.get('nextPageToken')
            if not page_token:
                return

    def _list_page(self, bucket: str, query: Mapping[str, str], policy: RetryPolicy) -> Dict[str, Any]:
        url = f'{self.url}/storage/v1/b/{quote(bucket, safe="")}/o?{urlencode(query)}'
        page: Dict[str, Any] = call_with_retry(
            lambda: raise_for_status(self.call(Request('GET', url, {}))).json(), policy
        )
        return page

    def read(self, bucket: str, name: str, policy: RetryPolicy) -> Optional[Tuple[bytes, str]]:
        """Returns the bytes and the generation of a small object, or None if it does not exist."""
        url = f'{self._object_url(bucket, name)}?alt=media'
        response = call_with_retry(lambda: self.call(Request('GET', url, {})), policy)
        if response.status == 404:
            return None
        return raise_for_status(response).body, response.headers.get('x-goog-generation', '0')

    def download(self, expected: ObjectInfo, target: Path, policy: RetryPolicy) -> None:
        """
        Downloads one generation of an object to a file, and resumes it after a broken connection; the policy's tries
        and seconds start over whenever bytes have arrived. Raises StorageRejected, ContentMismatch if size or checksum
        differ from `expected`, or the last TransientError.
        """
        url = f'{self._object_url(expected.bucket, expected.name)}?alt=media&generation={expected.generation}'
        target.unlink(missing_ok=True)
        target.touch()
        call_with_retry(
            lambda: self._download_rest(url, expected.size_bytes, target, policy.cancelled),
            policy,
            progress=lambda: target.stat().st_size,
        )
        _verify(expected, target)

    def insert(self, upload: Upload, body: bytes) -> ObjectInfo:
        """Writes a small object. Does not retry: raises TransientError, PreconditionFailed or StorageRejected."""
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
        return parse_object_info(raise_for_status(response).json())

    def upload_url(self, bucket: str) -> str:
        return f'{self.url}/upload/storage/v1/b/{quote(bucket, safe="")}/o'

    def call(self, request: Request) -> Response:
        """Sends one request as the VM's service account. Raises TransientError."""
        return self._check_token(send(self._authorize(request)))

    def _check_token(self, response: Response) -> Response:
        """Raises TransientError for a 401: the next try fetches a new token."""
        if response.status == 401:
            self._token.invalidate()
            raise TransientError(f'Cloud Storage rejected the access token: {error_message(response)}')
        return response

    def _authorize(self, request: Request) -> Request:
        return replace(request, headers={**request.headers, 'Authorization': self._token.bearer()})

    def _download_rest(self, url: str, size_bytes: int, target: Path, cancelled: threading.Event) -> None:
        with open(target, 'ab') as file:
            start = file.tell()
            if start >= size_bytes:
                return
            headers = {'Range': f'bytes={start}-'} if start else {}
            with open_response(self._authorize(Request('GET', url, headers))) as response:
                if response.status not in (200, 206):
                    body = response.read(CHUNK_BYTES)
                    raise_for_status(self._check_token(Response(response.status, {}, body)))
                if response.status == 200:
                    file.truncate(0)
                while chunk := response.read(CHUNK_BYTES):
                    file.write(chunk)
                    if cancelled.is_set():
                        raise TransientError('The download was canceled: the VM is stopping.')
                    if file.tell() > size_bytes:
                        raise ContentMismatch(f'The download has more than the expected {size_bytes} bytes.')
            if file.tell() < size_bytes:
                raise TransientError(f'The download ended after {file.tell()} of {size_bytes} bytes.')

    def _object_url(self, bucket: str, name: str) -> str:
        return f'{self.url}/storage/v1/b/{quote(bucket, safe="")}/o/{quote(name, safe="")}'


def raise_for_status(response: Response) -> Response:
    """Returns a successful response. Raises PreconditionFailed or StorageRejected for any other."""
    if response.status == 412:
        raise PreconditionFailed()
    if response.status >= 300:
        raise StorageRejected(response.status, error_message(response))
    return response


def parse_object_info(item: Mapping[str, Any]) -> ObjectInfo:
    """Parses an object resource."""
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
        raise ContentMismatch(f'The download has {size_bytes} bytes instead of {expected.size_bytes}.')
    # MD5 runs in C, CRC32C in pure Python at about 15 MB/s; composite objects have no MD5.
    md5, crc = hashlib.md5(usedforsecurity=False), 0
    with open(path, 'rb') as file:
        while chunk := file.read(CHUNK_BYTES):
            if expected.md5 is None:
                crc = crc32c.extend(crc, chunk)
            else:
                md5.update(chunk)
    name, actual, stored = (
        ('CRC32C', crc32c.encode(crc), expected.crc32c)
        if expected.md5 is None
        else ('MD5', base64.b64encode(md5.digest()).decode('ascii'), expected.md5)
    )
    if stored and actual != stored:
        raise ContentMismatch(f'The {name} of the download is {actual}, not {stored}.')
