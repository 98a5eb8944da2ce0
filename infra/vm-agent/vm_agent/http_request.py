"""One HTTP request with a timeout and a limit, over http.client."""

import errno
import http.client
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Union
from urllib.parse import urlsplit

from vm_agent.retry import PassingFault

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
    body: bytes

    def json(self) -> Any:
        """The body as JSON; a body that is none came from something in between, which may pass."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise PassingFault(f'The answer is not JSON: {self.body[:200]!r}') from error


def send(request: Request) -> Response:
    """The server's answer, whatever its status. Raises PassingFault where there is none, or 408, 429 or 5xx."""
    with open_response(request) as response:
        body = bytearray()
        # In steps: up to Python 3.9 one read takes as much memory as it might get.
        while chunk := response.read(READ_BYTES):
            body += chunk
            if len(body) > RESPONSE_BYTES_MAX:
                raise PassingFault(f'{_shown(request.url)} answered with more than {RESPONSE_BYTES_MAX} bytes.')
        return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, bytes(body))


@contextmanager
def open_response(request: Request) -> Iterator[http.client.HTTPResponse]:
    """The answer with its body still to be read. Faults of the connection become PassingFault."""
    parts = urlsplit(request.url)
    connect = http.client.HTTPSConnection if parts.scheme == 'https' else http.client.HTTPConnection
    connection = connect(parts.netloc, timeout=request.timeout_seconds)
    try:
        target = parts.path + (f'?{parts.query}' if parts.query else '')
        connection.request(request.method, target or '/', body=request.body, headers=dict(request.headers))
        response = connection.getresponse()
        if is_passing(response.status):
            raise PassingFault(
                f'{request.method} {_shown(request.url)} answered {response.status}: {_excerpt(response)}'
            )
        yield response
    except (OSError, http.client.HTTPException) as error:
        if is_disk_full(error):
            # Raised by whoever writes the answer down; no repeat makes room.
            raise
        raise PassingFault(f'{request.method} {_shown(request.url)} failed: {error or type(error).__name__}') from error
    finally:
        connection.close()


def is_passing(status: int) -> bool:
    """The statuses that Google's client libraries retry (cloud.google.com/storage/docs/retry-strategy)."""
    return status in (408, 429) or status >= 500


def is_disk_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def explain(response: Response) -> str:
    """The message of a Google API error, or the beginning of the body."""
    try:
        return str(json.loads(response.body)['error']['message'])
    except (ValueError, KeyError, TypeError):
        return response.body[:200].decode('utf-8', 'replace').strip()


def _excerpt(response: http.client.HTTPResponse) -> str:
    body: Optional[bytes] = response.read(200)
    return (body or b'').decode('utf-8', 'replace').strip()


def _shown(url: str) -> str:
    return url.split('?', 1)[0]
