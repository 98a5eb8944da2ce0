"""A Cloud Storage door that can be made to fail: objects in memory, behind real HTTP."""

import base64
import hashlib
import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qs, unquote, urlsplit

from vm_agent.storage import ATTEMPT_KEY, JOB_KEY, Author, Storage
from vm_agent.tokens import CachedToken

BUCKET = 'jobs'


@dataclass(frozen=True)
class Stored:
    name: str
    body: bytes
    generation: int
    author: Optional[Author] = None

    @property
    def resource(self) -> Dict[str, Any]:
        metadata = {} if self.author is None else {JOB_KEY: self.author.job_id, ATTEMPT_KEY: str(self.author.attempt)}
        md5 = base64.b64encode(hashlib.md5(self.body, usedforsecurity=False).digest()).decode()
        named = {'bucket': BUCKET, 'name': self.name, 'generation': str(self.generation), 'metadata': metadata}
        return {**named, 'size': str(len(self.body)), 'md5Hash': md5, 'crc32c': ''}


@dataclass(frozen=True)
class Asked:
    """One request for an object's bytes, or for a list or a resource where `name` is None."""

    name: Optional[str]
    start: int
    token: str


class StorageUnderTest:
    """Answers lists, resources and ranges of the objects in `objects`, by name."""

    def __init__(self) -> None:
        self.objects: Dict[str, Stored] = {}
        self.asked: List[Asked] = []
        self.refuse: Callable[[Asked], Optional[int]] = lambda _: None
        """A status in place of the answer, or None."""
        self.bytes_a_connection: Optional[int] = None
        """After so many bytes the connection breaks; None where it does not."""
        self.ignores_ranges = False
        """Whether every answer begins with the first byte."""
        self.alter: Callable[[bytes], bytes] = lambda body: body
        """What becomes of an object's bytes on their way."""
        self.hold: Callable[[Asked], None] = lambda _: None
        """Called before the bytes are sent."""
        self.tokens_fetched = 0
        door = type('Door', (_Door,), {'cloud': self})
        self._server = ThreadingHTTPServer(('127.0.0.1', 0), door)
        threading.Thread(target=self._server.serve_forever, kwargs={'poll_interval': 0.01}, daemon=True).start()

    def put(self, name: str, body: bytes, generation: int, author: Optional[Author] = None) -> Stored:
        self.objects[name] = Stored(name, body, generation, author)
        return self.objects[name]

    def connect(self) -> Storage:
        return Storage(f'http://127.0.0.1:{self._server.server_port}', CachedToken(self._fetch_token))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _fetch_token(self) -> Any:
        self.tokens_fetched += 1
        return f'token-{self.tokens_fetched}', time.time() + 3_600


class _Door(BaseHTTPRequestHandler):
    cloud: StorageUnderTest

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        name = unquote(parts.path.partition('/o/')[2])
        start = int(self.headers.get('Range', 'bytes=0-')[len('bytes=') : -1])
        is_media = query.get('alt') == 'media'
        asked = Asked(name if is_media else None, start, self.headers.get('Authorization', ''))
        self.cloud.asked.append(asked)
        status = self.cloud.refuse(asked)
        if status is not None:
            self._answer(status, json.dumps({'error': {'message': f'refused with {status}'}}).encode())
        elif name == '':
            self._list(query.get('prefix', ''))
        else:
            self._read(asked, name, query.get('generation'))

    def log_message(self, *_: Any) -> None:
        """Tests print nothing of their own."""

    def _list(self, prefix: str) -> None:
        found = [stored.resource for name, stored in sorted(self.cloud.objects.items()) if name.startswith(prefix)]
        self._answer(200, json.dumps({'items': found}).encode())

    def _read(self, asked: Asked, name: str, generation: Optional[str]) -> None:
        stored = self.cloud.objects.get(name)
        if stored is None or generation not in (None, str(stored.generation)):
            self._answer(404, json.dumps({'error': {'message': f'No such object: {name}'}}).encode())
        elif asked.name is None:
            self._answer(200, json.dumps(stored.resource).encode())
        else:
            self.cloud.hold(asked)
            start = 0 if self.cloud.ignores_ranges else asked.start
            body = self.cloud.alter(stored.body)[start:]
            self._answer(206 if start > 0 else 200, body, self.cloud.bytes_a_connection)

    def _answer(self, status: int, body: bytes, bytes_max: Optional[int] = None) -> None:
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body[:bytes_max])
