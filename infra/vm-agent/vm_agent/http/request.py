"""One HTTP request over http.client, with a timeout and a size limit on the response."""

import errno
import http.client
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Protocol, Union
from urllib.parse import SplitResult, urlsplit

from vm_agent.http.connections import Connections, open_connection
from vm_agent.http.retry import TransientError

TIMEOUT_SECONDS = 30.0
RESPONSE_BYTES_MAX = 33_554_432
READ_BYTES = 65_536
# The errors with which a server closes a connection that it no longer uses.
DISCONNECTED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class StreamedBody(Protocol):
    """A body that is sent piece by piece, from its start at every try."""

    size_bytes: int

    def __iter__(self) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: Union[bytes, StreamedBody, None] = None
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


def send(request: Request, connections: Optional[Connections] = None) -> Response:
    """Returns the response, whatever its status; raises TransientError for 408, 429, 5xx and connection errors."""
    with open_response(request, connections) as response:
        body = bytearray()
        # In chunks: up to Python 3.9, read(n) allocates n bytes however few arrive.
        while chunk := response.read(READ_BYTES):
            body += chunk
            if len(body) > RESPONSE_BYTES_MAX:
                url = _without_query(request.url)
                raise TransientError(f'The response of {url} is larger than {RESPONSE_BYTES_MAX} bytes.')
        # http.client does not report it when it reads in chunks.
        announced = response.getheader('content-length')
        if announced is not None and request.method != 'HEAD' and len(body) < int(announced):
            url = _without_query(request.url)
            raise TransientError(f'The response of {url} ended after {len(body)} of {announced} bytes.')
        return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, bytes(body))


@contextmanager
def open_response(
    request: Request, connections: Optional[Connections] = None
) -> Iterator[http.client.HTTPResponse]:
    """
    Sends a request and yields the response with its body unread, on a connection of `connections` if one is idle.
    Raises TransientError as `send` does; connection errors while the body is read become TransientError, too.
    """
    server = urlsplit(request.url)
    idle = None if connections is None else connections.take(server, request.timeout_seconds)
    connection = idle or open_connection(server, request.timeout_seconds)
    url = _without_query(request.url)
    is_reusable = False
    try:
        try:
            response = _exchange(connection, request, server)
        except DISCONNECTED:
            # The server may have closed an idle connection at any time: that says nothing about the request.
            if idle is None:
                raise
            connection.close()
            connection = open_connection(server, request.timeout_seconds)
            response = _exchange(connection, request, server)
        if is_transient(response.status):
            message = f'{request.method} {url} answered {response.status}: {_excerpt(response)}'
            raise TransientError(message, is_overload=response.status in (429, 503))
        yield response
        is_reusable = response.isclosed() and not response.will_close
    except (OSError, http.client.HTTPException) as error:
        if is_disk_full(error):
            # Raised by a caller that writes the body to the disk: a retry does not free space.
            raise
        raise TransientError(f'{request.method} {url} failed: {error or type(error).__name__}') from error
    finally:
        if is_reusable and connections is not None:
            connections.give_back(server, connection)
        else:
            connection.close()


def _exchange(
    connection: http.client.HTTPConnection, request: Request, server: SplitResult
) -> http.client.HTTPResponse:
    target = (server.path or '/') + (f'?{server.query}' if server.query else '')
    headers = dict(request.headers)
    if request.body is not None and not isinstance(request.body, bytes):
        headers['Content-Length'] = str(request.body.size_bytes)
    try:
        connection.request(request.method, target, body=request.body, headers=headers)
    except DISCONNECTED as error:
        # A server may reject a request before it has read the body, and then close the connection.
        return _response_after(error, connection)
    return connection.getresponse()


def _response_after(error: Exception, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
    try:
        return connection.getresponse()
    except (OSError, http.client.HTTPException):
        raise error from None


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
