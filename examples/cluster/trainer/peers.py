"""The replicas of a cluster, which exchange messages through the master, rank 0."""

import json
import os
import socket
import struct
import sys
import time
from typing import Any

LENGTH = struct.Struct('>I')
CONNECT_SECONDS_MAX = 60.0
RETRY_SECONDS = 0.05


class Peers:
    """Each method is called by all replicas at once. Exits with status 1 if another replica is gone."""

    def __init__(self) -> None:
        """Connects to the others, by the variables that Dropforge sets; a single machine has none of them."""
        self.rank = int(os.environ.get('RANK', '0'))
        self.count = int(os.environ.get('WORLD_SIZE', '1'))
        self._sockets: list[socket.socket] = []
        if self.count == 1:
            return
        address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
        if self.rank > 0:
            self._sockets = [connect(address)]
            self._send(self._sockets[0], self.rank)
            return
        with socket.create_server(address) as server:
            accepted = [server.accept()[0] for _ in range(self.count - 1)]
        self._sockets = [one for _, one in sorted((self._receive(one), one) for one in accepted)]

    def gather(self, value: Any) -> list[Any]:
        """Returns the values of all replicas by rank on the master, and an empty list on the others."""
        if self.rank > 0:
            self._send(self._sockets[0], value)
            return []
        return [value, *map(self._receive, self._sockets)]

    def broadcast(self, value: Any) -> Any:
        """Returns the value of the master on every replica."""
        if self.rank > 0:
            return self._receive(self._sockets[0])
        for one in self._sockets:
            self._send(one, value)
        return value

    def _send(self, one: socket.socket, value: object) -> None:
        data = json.dumps(value).encode()
        try:
            one.sendall(LENGTH.pack(len(data)) + data)
        except OSError as error:
            sys.exit(f'connection closed: {error}')

    def _receive(self, one: socket.socket) -> Any:
        return json.loads(self._read(one, LENGTH.unpack(self._read(one, LENGTH.size))[0]))

    def _read(self, one: socket.socket, size: int) -> bytes:
        try:
            data = one.recv(size, socket.MSG_WAITALL)
        except OSError as error:
            sys.exit(f'connection closed: {error}')
        if len(data) < size:
            sys.exit('connection closed')
        return data


def connect(address: tuple[str, int]) -> socket.socket:
    """Connects to the master, which may start later."""
    give_up_at = time.monotonic() + CONNECT_SECONDS_MAX
    while True:
        try:
            return socket.create_connection(address)
        except OSError as error:
            if time.monotonic() > give_up_at:
                sys.exit(f'The master at {address[0]}:{address[1]} was not reached: {error}')
            time.sleep(RETRY_SECONDS)
