"""Connections that are kept open between requests, so that a request costs one round trip instead of two or more."""

import http.client
import threading
import time
from collections import deque
from typing import Deque, Optional, Tuple
from urllib.parse import SplitResult

# Node.js closes idle connections after 5 seconds, Google's servers after minutes.
IDLE_SECONDS_MAX = 4.0
IDLE_COUNT_MAX = 64


class Connections:
    """Idle connections to servers. Thread-safe; a connection that is taken belongs to its taker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: Deque[Tuple[Tuple[str, str], float, http.client.HTTPConnection]] = deque()

    def take(self, server: SplitResult, timeout_seconds: float) -> Optional[http.client.HTTPConnection]:
        """Returns the connection to this server that was used last, or None."""
        key = (server.scheme, server.netloc)
        with self._lock:
            oldest_at = time.monotonic() - IDLE_SECONDS_MAX
            while self._idle and self._idle[0][1] < oldest_at:
                self._idle.popleft()[2].close()
            for entry in reversed(self._idle):
                if entry[0] == key:
                    self._idle.remove(entry)
                    connection = entry[2]
                    connection.timeout = timeout_seconds
                    if connection.sock is not None:
                        connection.sock.settimeout(timeout_seconds)
                    return connection
        return None

    def give_back(self, server: SplitResult, connection: http.client.HTTPConnection) -> None:
        """Keeps a connection whose last response has been read completely."""
        with self._lock:
            self._idle.append(((server.scheme, server.netloc), time.monotonic(), connection))
            if len(self._idle) > IDLE_COUNT_MAX:
                self._idle.popleft()[2].close()

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            while self._idle:
                self._idle.popleft()[2].close()


def open_connection(server: SplitResult, timeout_seconds: float) -> http.client.HTTPConnection:
    """Returns a connection that is opened by its first request."""
    connect = http.client.HTTPSConnection if server.scheme == 'https' else http.client.HTTPConnection
    return connect(server.netloc, timeout=timeout_seconds)
