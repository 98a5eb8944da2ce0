"""A client of the Cloud Storage JSON API (cloud.google.com/storage/docs/json_api/v1)."""

import base64
import json
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from http.client import HTTPResponse
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote, urlencode

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.connections import Connections
from vm_agent.http.request import Request, Response, error_message, open_response, send
from vm_agent.http.request_limit import RequestLimit
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.transfer.body import Body, MultipartBody
from vm_agent.storage.transfer.transfer_pool import TransferPool

# Parallel requests, as many as threads: enough for 1,000 small objects per second at 30 ms each.
REQUESTS_MAX = 32
LIST_PAGE_COUNT = 1_000
# Sources of one compose request (cloud.google.com/storage/docs/composite-objects).
COMPOSE_COUNT_MAX = 32
# Until Cloud Storage has taken the next bytes, or answers after the last one.
UPLOAD_SECONDS_MAX = 120.0
ERROR_BYTES_MAX = 65_536
JOB_KEY = 'dropforge-job'
ATTEMPT_KEY = 'dropforge-attempt'
PARTS_KEY = 'dropforge-parts-md5'
# Marks of a manifest. The first is read by the control plane (shared/use-cases/provision/find-success.ts), the second by
# the next attempt.
SUCCESS_KEY = 'dropforge-succeeded'
END_KEY = 'dropforge-ended'
# A smaller part in the metadata of an object was not written by an agent.
PART_BYTES_MIN = 1_048_576


class StorageRejected(Exception):
    """Cloud Storage rejected the request; a retry would be rejected, too."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f'Cloud Storage answered {status}: {message}')
        self.status = status


class PreconditionFailed(Exception):
    """The live object has another generation than expected."""


@dataclass(frozen=True)
class Author:
    """The attempt that writes, or wrote, an object."""

    job_id: str
    attempt: int

    def fences(self, other: 'Author') -> bool:
        """True only for a later attempt of the same job: another job may take over the directory and continue in it."""
        return self.job_id == other.job_id and self.attempt > other.attempt


@dataclass(frozen=True)
class PartsMd5:
    """The MD5 of the MD5s of an object's parts: unlike a composed object's CRC32C, it is computed in parallel."""

    part_bytes: int
    """The size of all parts but the last one."""
    md5: str

    def encode(self) -> str:
        return f'{self.part_bytes}:{self.md5}'


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
    modified_ns: Optional[int] = None
    """When the program wrote the file, since the epoch; None if unknown."""
    parts: Optional[PartsMd5] = None
    has_ended: bool = False
    """Whether its author has saved all that it will."""
    created_at: float = 0.0
    """When Cloud Storage created it, in seconds since the epoch; 0 if unknown."""


@dataclass(frozen=True)
class Upload:
    """One object to write: only if its live generation is `if_generation`, where '0' means that it does not exist."""

    bucket: str
    name: str
    if_generation: str
    author: Author
    parts_prefix: str = 'dropforge-parts/'
    """Where the parts of a large file are until they are composed."""
    parts: Optional[PartsMd5] = None
    marks: Tuple[str, ...] = ()
    """SUCCESS_KEY: the author's program has succeeded, and has no outputs that are not saved. END_KEY: it has ended."""

    def part(self, name: str) -> 'Upload':
        """Returns the upload of a part, whose name is new."""
        return replace(self, name=name, if_generation='0', parts=None)

    def resource(self) -> Dict[str, Any]:
        metadata = {JOB_KEY: self.author.job_id, ATTEMPT_KEY: str(self.author.attempt)}
        if self.parts is not None:
            metadata[PARTS_KEY] = self.parts.encode()
        metadata.update((key, 'true') for key in self.marks)
        return {'name': self.name, 'contentType': 'application/octet-stream', 'metadata': metadata}


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
        self.transfers = TransferPool(REQUESTS_MAX)
        self._token = token
        self._connections = Connections()
        self._limit = RequestLimit(REQUESTS_MAX)

    def close(self) -> None:
        """Closes the idle connections; the storage can still be used."""
        self._connections.close()

    def stat(self, bucket: str, name: str) -> Optional[ObjectInfo]:
        """Returns the live object, or None. Does not retry: raises TransientError or StorageRejected."""
        response = self.call(Request('GET', self.object_url(bucket, name), {}))
        return None if response.status == 404 else parse_object_info(raise_for_status(response).json())

    def list(
        self, bucket: str, prefix: str, policy: RetryPolicy, has_versions: bool = False
    ) -> Iterator[ObjectInfo]:
        """
        Yields the live objects below the prefix, page by page; with `has_versions`, all their generations, those that
        were replaced or deleted too.
        """
        query = {'prefix': prefix, **({'versions': 'true'} if has_versions else {}), 'maxResults': str(LIST_PAGE_COUNT)}
        while True:
            url = f'{self.url}/storage/v1/b/{quote(bucket, safe="")}/o?{urlencode(query)}'
            request = Request('GET', url, {})
            page = call_with_retry(lambda request=request: raise_for_status(self.call(request)).json(), policy)
            for item in page.get('items', []):
                yield parse_object_info(item)
            if not page.get('nextPageToken'):
                return
            query['pageToken'] = page['nextPageToken']

    def read(self, bucket: str, name: str, policy: RetryPolicy) -> Optional[Tuple[bytes, str]]:
        """Returns the bytes and the generation of a small object, or None if it does not exist."""
        url = f'{self.object_url(bucket, name)}?alt=media'
        response = call_with_retry(lambda: self.call(Request('GET', url, {})), policy)
        if response.status == 404:
            return None
        return raise_for_status(response).body, response.headers.get('x-goog-generation', '0')

    def read_version(self, info: ObjectInfo, policy: RetryPolicy) -> Optional[bytes]:
        """Returns the bytes of one generation of a small object, or None if it does not exist."""
        response = call_with_retry(lambda: self.call(Request('GET', self.media_url(info), {})), policy)
        return None if response.status == 404 else raise_for_status(response).body

    def insert(self, upload: Upload, body: Body) -> ObjectInfo:
        """
        Writes an object by one request, which Cloud Storage rejects if the bytes differ from their MD5. Does not retry:
        raises TransientError, PreconditionFailed or StorageRejected.
        """
        md5 = base64.b64encode(body.md5()).decode('ascii')
        boundary = uuid.uuid4().hex
        head = json.dumps({**upload.resource(), 'md5Hash': md5}, allow_nan=False)
        start = (
            f'--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{head}\r\n'
            f'--{boundary}\r\nContent-Type: application/octet-stream\r\n\r\n'
        )
        query = {'uploadType': 'multipart', 'name': upload.name, 'ifGenerationMatch': upload.if_generation}
        url = f'{self.url}/upload/storage/v1/b/{quote(upload.bucket, safe="")}/o?{urlencode(query)}'
        headers = {'Content-Type': f'multipart/related; boundary={boundary}'}
        multipart = MultipartBody(start.encode(), body, f'\r\n--{boundary}--\r\n'.encode())
        response = self.call(Request('POST', url, headers, multipart, timeout_seconds=UPLOAD_SECONDS_MAX))
        return parse_object_info(raise_for_status(response).json())

    def compose(self, upload: Upload, sources: Sequence[ObjectInfo], deletes_sources: bool = True) -> ObjectInfo:
        """
        Concatenates 1 to COMPOSE_COUNT_MAX objects of the bucket into one, and deletes them in the same operation. Does
        not retry, as `insert`; a repeated request finds deleted sources gone.
        """
        named = [{'name': one.name, 'generation': one.generation} for one in sources]
        body = {'sourceObjects': named, 'destination': upload.resource(), 'deleteSourceObjects': deletes_sources}
        query = urlencode({'ifGenerationMatch': upload.if_generation})
        url = f'{self.object_url(upload.bucket, upload.name)}/compose?{query}'
        headers = {'Content-Type': 'application/json; charset=UTF-8'}
        encoded = json.dumps(body, allow_nan=False).encode()
        response = self.call(Request('POST', url, headers, encoded, timeout_seconds=UPLOAD_SECONDS_MAX))
        return parse_object_info(raise_for_status(response).json())

    def delete(self, info: ObjectInfo) -> None:
        """Deletes one generation permanently, if it exists. Does not retry, as `stat`."""
        url = f'{self.object_url(info.bucket, info.name)}?generation={info.generation}'
        response = self.call(Request('DELETE', url, {}))
        if response.status != 404:
            raise_for_status(response)

    def call(self, request: Request) -> Response:
        """Sends one request as the VM's service account. Raises TransientError."""
        with self._limit.slot():
            return self._check_token(send(self._authorize(request), self._connections))

    @contextmanager
    def open(self, request: Request) -> Iterator[HTTPResponse]:
        """Sends one request and yields its response with the body unread. Raises TransientError or StorageRejected."""
        with self._limit.slot(), open_response(self._authorize(request), self._connections) as response:
            if response.status >= 300:
                body = response.read(ERROR_BYTES_MAX)
                raise_for_status(self._check_token(Response(response.status, {}, body)))
            yield response

    def _check_token(self, response: Response) -> Response:
        """Raises TransientError for a 401: the next try fetches a new token."""
        if response.status == 401:
            self._token.invalidate()
            raise TransientError(f'Cloud Storage rejected the access token: {error_message(response)}')
        return response

    def _authorize(self, request: Request) -> Request:
        return replace(request, headers={**request.headers, 'Authorization': self._token.bearer()})

    def object_url(self, bucket: str, name: str) -> str:
        """Returns the URL of an object's resource."""
        return f'{self.url}/storage/v1/b/{quote(bucket, safe="")}/o/{quote(name, safe="")}'

    def media_url(self, info: ObjectInfo) -> str:
        """Returns the URL of the bytes of one generation."""
        return f'{self.object_url(info.bucket, info.name)}?alt=media&generation={info.generation}'


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
        parts=_parse_parts(str(metadata.get(PARTS_KEY, ''))),
        has_ended=metadata.get(END_KEY) == 'true',
        created_at=_parse_time(str(item.get('timeCreated', ''))),
    )


def _parse_time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()
    except ValueError:
        return 0.0


def _parse_parts(text: str) -> Optional[PartsMd5]:
    part_bytes, _, md5 = text.partition(':')
    is_valid = part_bytes.isdecimal() and int(part_bytes) >= PART_BYTES_MIN
    return PartsMd5(int(part_bytes), md5) if is_valid else None

