"""
Messages between the agents of a cluster: JSON over TCP, after both sides have proved by HMAC that they know the secret
of the attempt (docs.python.org/3/library/multiprocessing.html, "Authentication keys").
"""

import hmac
import json
import os
import socket
import threading
from contextlib import contextmanager
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any, Dict, Iterator

CONNECT_SECONDS_MAX = 10.0
# Until the other side has proved its knowledge of the secret.
HANDSHAKE_SECONDS_MAX = 10.0
MESSAGE_BYTES_MAX = 64 * 2**20
# A VM that is gone without a word is found after this time.
IDLE_SECONDS, PROBE_SECONDS, PROBES_MAX = 10, 5, 3
UNACKNOWLEDGED_MS_MAX = 30_000

Message = Dict[str, Any]


class ChannelClosed(Exception):
    """The other agent is gone, or is not one of this attempt."""


class MessageTooLarge(Exception):
    """There are too many files, or their names are too long."""


class Channel:
    """One connection. `receive` is called by one thread, the others by any."""

    def __init__(self, opened: socket.socket, connection: 'Connection[Any, Any]') -> None:
        self._socket = opened
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Raises ChannelClosed, or MessageTooLarge, after which the connection is as before."""
        body = json.dumps(message, allow_nan=False, ensure_ascii=False).encode('utf-8', 'surrogatepass')
        if len(body) > MESSAGE_BYTES_MAX:
            raise MessageTooLarge(f'{len(body)} bytes of names, of at most {MESSAGE_BYTES_MAX}')
        try:
            with self._sending:
                self._connection.send_bytes(body)
        except (OSError, ValueError) as error:
            raise ChannelClosed(str(error)) from error

    def receive(self) -> Message:
        """Waits for a message. Raises ChannelClosed."""
        try:
            message = json.loads(self._connection.recv_bytes(MESSAGE_BYTES_MAX).decode('utf-8', 'surrogatepass'))
        except (OSError, EOFError, ValueError, RecursionError) as error:
            raise ChannelClosed(str(error) or 'the connection was closed') from error
        if not isinstance(message, dict):
            raise ChannelClosed('the other side does not speak this protocol')
        return message

    def close(self) -> None:
        """Ends `receive` on both sides."""
        shut_down(self._socket)
        self._socket.close()


def connect(host: str, port: int, secret: str) -> Channel:
    """Raises ChannelClosed."""
    try:
        opened = socket.create_connection((host, port), CONNECT_SECONDS_MAX)
    except OSError as error:
        raise ChannelClosed(f'{host}:{port}: {error}') from error
    with deadline(opened):
        return _authenticate(opened, secret, is_server=False)


def accept(accepted: socket.socket, secret: str) -> Channel:
    """Called within `deadline`. Raises ChannelClosed."""
    return _authenticate(accepted, secret, is_server=True)


@contextmanager
def deadline(opened: socket.socket) -> Iterator[None]:
    """Shuts the connection down if the block takes longer than HANDSHAKE_SECONDS_MAX, however slowly it is sent to."""
    watchdog = threading.Timer(HANDSHAKE_SECONDS_MAX, shut_down, [opened])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _authenticate(opened: socket.socket, secret: str, is_server: bool) -> Channel:
    # One key for each side: an answer cannot be had from another replica.
    master, member = (hmac.digest(secret.encode('ascii'), side, 'sha256') for side in (b'master', b'member'))
    opened.settimeout(None)
    _set_timeouts(opened)
    # It closes its own descriptor, once no thread uses it.
    connection: 'Connection[Any, Any]' = Connection(os.dup(opened.fileno()))
    try:
        if is_server:
            deliver_challenge(connection, member)
            answer_challenge(connection, master)
        else:
            answer_challenge(connection, member)
            deliver_challenge(connection, master)
    except Exception as error:
        # Also raised for a wrong secret, as AuthenticationError; what a stranger sends may raise anything.
        connection.close()
        opened.close()
        raise ChannelClosed(f'the other side is no agent of this attempt: {error}') from error
    return Channel(opened, connection)


def shut_down(opened: socket.socket) -> None:
    """Ends what other threads wait for at this socket."""
    try:
        opened.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The other side was first.
        pass


def _set_timeouts(opened: socket.socket) -> None:
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ('TCP_KEEPIDLE', IDLE_SECONDS),
        ('TCP_KEEPINTVL', PROBE_SECONDS),
        ('TCP_KEEPCNT', PROBES_MAX),
        ('TCP_USER_TIMEOUT', UNACKNOWLEDGED_MS_MAX),
    ):
        # macOS has other names.
        if hasattr(socket, option):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
