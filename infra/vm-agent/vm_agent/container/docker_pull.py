"""
Pulls an image through the API of the Docker daemon (docs.docker.com/reference/api/engine, "Create an image"). Unlike the
command line, it reports bytes, and takes credentials without a file. Docker itself verifies digests, resumes a
connection that was cut, and downloads no layer that it has.
"""

import base64
import http.client
import json
import socket
import threading
from typing import Any, Callable, Dict, Optional, Tuple
from urllib.parse import urlencode

from vm_agent.container.pull_failure import PullError
from vm_agent.container.transfer import PullProgress

POLL_SECONDS = 0.1
# Docker reports nothing while it verifies a layer.
SILENT_SECONDS_MAX = 600.0
LINE_BYTES_MAX = 65_536
Credentials = Optional[Tuple[str, str]]
"""User and password."""


class DockerPull:
    def __init__(self, socket_path: str, image: str, credentials: Credentials, progress: PullProgress) -> None:
        self._connection = _UnixConnection(socket_path)
        self._image = image
        self._credentials = credentials
        self._progress = progress
        self._layer_bytes: Dict[str, int] = {}
        self._error: Optional[str] = None
        self._ended = threading.Event()

    def run(self, check: Callable[[], None]) -> None:
        """`check` raises an exception that ends the pull at once. Raises PullError."""
        threading.Thread(target=self._pull, name='docker-pull', daemon=True).start()
        try:
            while not self._ended.wait(POLL_SECONDS):
                check()
                if self._progress.is_exceeded:
                    raise PullError('The layers are larger than intake found.')
        finally:
            # Docker abandons a pull whose client is gone.
            self._connection.shut_down()
        if self._error is not None:
            raise PullError(self._error)

    def _pull(self) -> None:
        try:
            self._request()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._error = self._error or f'The Docker daemon did not answer: {error or type(error).__name__}'
        finally:
            self._connection.close()
            self._ended.set()

    def _request(self) -> None:
        name, _, digest = self._image.partition('@')
        headers = {}
        if self._credentials is not None:
            user, password = self._credentials
            login = {'username': user, 'password': password, 'serveraddress': name.split('/', 1)[0]}
            headers['X-Registry-Auth'] = base64.urlsafe_b64encode(json.dumps(login).encode()).decode('ascii')
        query = urlencode({'fromImage': name, 'tag': digest})
        self._connection.request('POST', f'/images/create?{query}', headers=headers)
        response = self._connection.getresponse()
        is_complete = False
        while line := response.readline(LINE_BYTES_MAX):
            body = json.loads(line) if line.strip() else {}
            is_complete = is_complete or self._read_event(body, response.status)
        if self._error is None and (response.status != 200 or not is_complete):
            self._error = f'The Docker daemon answered {response.status}, and ended the pull: unexpected EOF'

    def _read_event(self, body: Any, status: int) -> bool:
        """Returns whether the pull is complete."""
        error = body.get('error') or (body.get('message') if status != 200 else None)
        if error:
            self._error = str(error)
        text, layer, detail = str(body.get('status', '')), body.get('id'), body.get('progressDetail') or {}
        if layer and text == 'Downloading' and isinstance(detail.get('current'), int):
            self._layer_bytes[layer] = int(detail.get('total') or 0)
            self._progress.set_layer(layer, detail['current'])
        elif layer and text == 'Download complete':
            self._progress.set_layer(layer, self._layer_bytes.get(layer, 0))
        return text.startswith('Status: ')


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__('localhost', timeout=SILENT_SECONDS_MAX)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

    def shut_down(self) -> None:
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            # Not connected, or no longer.
            return
