"""One HTTP request over http.client, with a timeout and a size limit on the response."""

import errno
import http.client
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Union
from urllib.parse import urlsplit

from vm_agent.http.retry import TransientError

TIMEOUT_SECONDS = 30.0
RESPONSE_BYTES_MAX = 33_554_432
READ_BYTES = 65_536


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: Union[bytes, None] = None
    timeout_seconds: float = TIMEOUT_SECONDS


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """Names in lowercase."""
    body: bytes

    def json(self) -> Any:
        """Parses the body. Raises TransientError if it is not JSON: an intermediary answered, not the API."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise TransientError(f'The response is not JSON: {self.body[:200]!r}') from error


def send(request: Request) -> Response:
    """Returns the response, whatever its status; raises TransientError for 408, 429, 5xx and connection errors."""
    with open_response(request) as response:
        body = bytearray()
        # In chunks: up to Python 3.9, read(n) allocates n bytes however few arrive.
        while chunk := response.read(READ_BYTES):
            body += chunk
            if len(body) > RESPONSE_BYTES_MAX:
                url = _without_query(request.url)
                raise TransientError(f'The response of {url} is larger than {RESPONSE_BYTES_MAX} bytes.')
        return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, bytes(body))


@contextmanager
def open_response(request: Request) -> Iterator[http.client.HTTPResponse]:
    """
    Sends a request and yields the response with its body unread. Raises TransientError as `send` does; connection
    errors while the body is read become TransientError, too.
    """
    parts = urlsplit(request.url)
    connect = http.client.HTTPSConnection if parts.scheme == 'https' else http.client.HTTPConnection
    connection = connect(parts.netloc, timeout=request.timeout_seconds)
    url = _without_query(request.url)
    try:
        target = parts.path + (f'?{parts.query}' if parts.query else '')
        connection.request(request.method, target or '/', body=request.body, headers=dict(request.headers))
        response = connection.getresponse()
        if is_transient(response.status):
            raise TransientError(f'{request.method} {url} answered {response.status}: {_excerpt(response)}')
        yield response
    except (OSError, http.client.HTTPException) as error:
        if is_disk_full(error):
            # Raised by a caller that writes the body to the disk: a retry does not free space.
            raise
        raise TransientError(f'{request.method} {url} failed: {error or type(error).__name__}') from error
    finally:
        connection.close()


def is_transient(status: int) -> bool:
    """The statuses that Google's client libraries retry (cloud.google.com/storage/docs/retry-strategy)."""
    return status in (408, 429) or status >= 500


def is_disk_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def error_message(response: Response) -> str:
    """Returns the message of a Google API error, or the first 200 bytes of any other body."""
    try:
        return str(json.loads(response.body)['error']['message'])
    except (ValueError, KeyError, TypeError):
        return response.body[:200].decode('utf-8', 'replace').strip()


def _excerpt(response: http.client.HTTPResponse) -> str:
    body: Optional[bytes] = response.read(200)
    return (body or b'').decode('utf-8', 'replace').strip()


def _without_query(url: str) -> str:
    return url.split('?', 1)[0]
