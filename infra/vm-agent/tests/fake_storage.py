"""A fake Cloud Storage server for tests: in-memory objects behind real HTTP, with faults to inject."""

import base64
import hashlib
import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qs, unquote, urlsplit

from vm_agent.http.cached_token import CachedToken
from vm_agent.storage.client import ATTEMPT_KEY, JOB_KEY, Author, Storage

BUCKET = 'jobs'


@dataclass(frozen=True)
class StoredObject:
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
class Received:
    """One request: for an object's bytes, or for a list or a resource if `name` is None."""

    name: Optional[str]
    start: int
    token: str


class FakeStorage:
    """Serves lists, resources and byte ranges of `objects`, which are keyed by name."""

    def __init__(self) -> None:
        self.objects: Dict[str, StoredObject] = {}
        self.received: List[Received] = []
        self.reject: Callable[[Received], Optional[int]] = lambda _: None
        """Returns the status of an error response, or None to serve the request."""
        self.bytes_per_connection: Optional[int] = None
        """The number of bytes after which the connection breaks; None: it never breaks."""
        self.ignores_ranges = False
        """Whether every response starts at the first byte."""
        self.corrupt: Callable[[bytes], bytes] = lambda body: body
        """Changes an object's bytes in transit."""
        self.before_sending: Callable[[Received], None] = lambda _: None
        self.tokens_fetched = 0
        handler = type('Handler', (_Handler,), {'storage': self})
        self._server = ThreadingHTTPServer(('127.0.0.1', 0), handler)
        threading.Thread(target=self._server.serve_forever, kwargs={'poll_interval': 0.01}, daemon=True).start()

    def put(self, name: str, body: bytes, generation: int, author: Optional[Author] = None) -> StoredObject:
        self.objects[name] = StoredObject(name, body, generation, author)
        return self.objects[name]

    def connect(self) -> Storage:
        return Storage(f'http://127.0.0.1:{self._server.server_port}', CachedToken(self._fetch_token))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _fetch_token(self) -> Any:
        self.tokens_fetched += 1
        return f'token-{self.tokens_fetched}', time.time() + 3_600


class _Handler(BaseHTTPRequestHandler):
    storage: FakeStorage

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        name = unquote(parts.path.partition('/o/')[2])
        start = int(self.headers.get('Range', 'bytes=0-')[len('bytes=') : -1])
        is_media = query.get('alt') == 'media'
        received = Received(name if is_media else None, start, self.headers.get('Authorization', ''))
        self.storage.received.append(received)
        status = self.storage.reject(received)
        if status is not None:
            self._respond(status, json.dumps({'error': {'message': f'rejected with {status}'}}).encode())
        elif name == '':
            self._list(query.get('prefix', ''))
        else:
            self._read(received, name, query.get('generation'))

    def log_message(self, *_: Any) -> None:
        """Keeps the test output free of request logs."""

    def _list(self, prefix: str) -> None:
        found = [stored.resource for name, stored in sorted(self.storage.objects.items()) if name.startswith(prefix)]
        self._respond(200, json.dumps({'items': found}).encode())

    def _read(self, received: Received, name: str, generation: Optional[str]) -> None:
        stored = self.storage.objects.get(name)
        if stored is None or generation not in (None, str(stored.generation)):
            self._respond(404, json.dumps({'error': {'message': f'No such object: {name}'}}).encode())
        elif received.name is None:
            self._respond(200, json.dumps(stored.resource).encode())
        else:
            self.storage.before_sending(received)
            start = 0 if self.storage.ignores_ranges else received.start
            body = self.storage.corrupt(stored.body)[start:]
            self._respond(206 if start > 0 else 200, body, self.storage.bytes_per_connection)

    def _respond(self, status: int, body: bytes, bytes_max: Optional[int] = None) -> None:
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body[:bytes_max])
