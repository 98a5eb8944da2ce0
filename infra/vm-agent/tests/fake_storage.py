"""A fake Cloud Storage server for tests: in-memory objects behind real HTTP, with faults to inject."""

import base64
import hashlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import parse_qs, unquote, urlsplit

from vm_agent.http.cached_token import CachedToken
from vm_agent.storage.transfer import crc32c
from vm_agent.storage.transfer.client import ATTEMPT_KEY, END_KEY, JOB_KEY, PARTS_KEY, SUCCESS_KEY, Author, Storage

BUCKET = 'jobs'


@dataclass(frozen=True)
class StoredObject:
    name: str
    body: bytes
    generation: int
    author: Optional[Author] = None
    is_composed: bool = False
    parts: str = ''
    marks: Tuple[str, ...] = ()
    created_at: float = field(default_factory=time.time)
    """In seconds since the epoch."""

    @property
    def resource(self) -> Dict[str, Any]:
        metadata = {} if self.author is None else {JOB_KEY: self.author.job_id, ATTEMPT_KEY: str(self.author.attempt)}
        if self.parts:
            metadata[PARTS_KEY] = self.parts
        metadata.update((key, 'true') for key in self.marks)
        named = {'bucket': BUCKET, 'name': self.name, 'generation': str(self.generation), 'metadata': metadata}
        sums = {'crc32c': crc32c.encode(crc32c.extend(0, self.body))}
        if not self.is_composed:
            md5 = hashlib.md5(self.body, usedforsecurity=False).digest()
            sums['md5Hash'] = base64.b64encode(md5).decode()
        created = datetime.fromtimestamp(self.created_at, timezone.utc).isoformat(timespec='milliseconds')
        return {**named, 'size': str(len(self.body)), **sums, 'timeCreated': created.replace('+00:00', 'Z')}


@dataclass(frozen=True)
class Received:
    """One request: for an object's bytes, or for a list or a resource if `name` is None."""

    name: Optional[str]
    start: int
    token: str
    method: str = 'GET'
    path: str = ''
    """Decoded, with the name of an object that is uploaded appended."""


class FakeStorage:
    """Serves lists, resources and byte ranges of `objects`, which are keyed by name; inserts, composes and deletes."""

    def __init__(self) -> None:
        self.objects: Dict[str, StoredObject] = {}
        self.versions: Dict[Tuple[str, str], StoredObject] = {}
        """Objects that were replaced, by name and generation; empty in a bucket without versioning."""
        self.is_versioned = False
        """Whether objects that are replaced become `versions`."""
        self.received: List[Received] = []
        self.connections: List[socket.socket] = []
        self.reject: Callable[[Received], Optional[int]] = lambda _: None
        """Returns the status of an error response, or None to serve the request."""
        self.lose_answer: Callable[[Received], bool] = lambda _: False
        """Whether the connection breaks after the request has been served."""
        self.bytes_per_connection: Optional[int] = None
        """The number of bytes after which the connection breaks; None: it never breaks."""
        self.ignores_ranges = False
        """Whether every response starts at the first byte."""
        self.corrupt: Callable[[bytes], bytes] = lambda body: body
        """Changes an object's bytes in transit."""
        self.before_sending: Callable[[Received], None] = lambda _: None
        self.now: Callable[[], float] = time.time
        """When an object that is written is created, in seconds since the epoch."""
        self.tokens_fetched = 0
        self._clients: List[Storage] = []
        self.lock = threading.Lock()
        handler = type('Handler', (_Handler,), {'storage': self})
        self._server = _Server(('127.0.0.1', 0), handler)
        threading.Thread(target=self._server.serve_forever, kwargs={'poll_interval': 0.01}, daemon=True).start()

    def put(self, name: str, body: bytes, generation: int, author: Optional[Author] = None) -> StoredObject:
        self.objects[name] = StoredObject(name, body, generation, author)
        return self.objects[name]

    def find(self, name: str, generation: Optional[str]) -> Optional[StoredObject]:
        """Returns the live object, or that of a generation."""
        stored = self.objects.get(name)
        is_live = stored is not None and generation in (None, str(stored.generation))
        return stored if is_live else self.versions.get((name, str(generation)))

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self._server.server_port}'

    def connect(self) -> Storage:
        storage = Storage(self.url, CachedToken(self._fetch_token))
        self._clients.append(storage)
        return storage

    def disconnect_idle(self) -> None:
        """Closes all connections, none of which has a request in progress."""
        for connection in self.connections:
            connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for storage in self._clients:
            storage.close()
        self._server.shutdown()
        self._server.server_close()

    def _fetch_token(self) -> Any:
        self.tokens_fetched += 1
        return f'token-{self.tokens_fetched}', time.time() + 3_600


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keeps the test output free of connections that the client or the test has closed."""


class _Handler(BaseHTTPRequestHandler):
    storage: FakeStorage
    protocol_version = 'HTTP/1.1'
    # Otherwise, the delayed acknowledgment of the headers delays every body.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.storage.connections.append(self.connection)

    def do_GET(self) -> None:
        name, query = self._target()
        first, _, last = self.headers.get('Range', 'bytes=0-')[len('bytes=') :].partition('-')
        is_media = query.get('alt') == 'media'
        received = self._receive(name if is_media else None, int(first))
        if received is None:
            return
        if name == '':
            self._list(query.get('prefix', ''), query.get('versions') == 'true')
        else:
            self._read(received, name, (query.get('generation'), int(last) + 1 if last else None))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers['Content-Length']))
        name, query = self._target()
        received = self._receive(None, 0, query.get('name', ''))
        if received is None:
            return
        if name.endswith('/compose'):
            self._compose(name[: -len('/compose')], query, json.loads(body))
        else:
            boundary = b'\r\n--' + self.headers['Content-Type'].partition('boundary=')[2].encode()
            _, head, media = (b'\r\n' + body).split(boundary + b'\r\n', 2)
            content = media.split(b'\r\n\r\n', 1)[1].rsplit(boundary, 1)[0]
            resource = json.loads(head.split(b'\r\n\r\n', 1)[1])
            self._write(query['name'], query, (resource, self.storage.corrupt(content), []))

    def do_DELETE(self) -> None:
        name, query = self._target()
        if self._receive(None, 0) is not None:
            generation = query.get('generation')
            stored = self.storage.find(name, generation)
            if stored is not None and self.storage.objects.get(name) is stored:
                del self.storage.objects[name]
            self.storage.versions.pop((name, str(generation)), None)
            self._respond(404 if stored is None else 204, b'')

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the test output free of request logs."""

    def _target(self) -> Any:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        return unquote(parts.path.partition('/o/')[2]), query

    def _receive(self, name: Optional[str], start: int, uploaded: str = '') -> Optional[Received]:
        """Records the request. Returns None if it was rejected."""
        path = unquote(urlsplit(self.path).path) + (f'/{uploaded}' if uploaded else '')
        received = Received(name, start, self.headers.get('Authorization', ''), self.command, path)
        self.storage.received.append(received)
        status = self.storage.reject(received)
        self._is_answer_lost = status is None and self.storage.lose_answer(received)
        if status is not None:
            self._respond(status, json.dumps({'error': {'message': f'rejected with {status}'}}).encode())
            return None
        return received

    def _list(self, prefix: str, has_versions: bool) -> None:
        listed = [*self.storage.objects.values(), *(self.storage.versions.values() if has_versions else ())]
        in_order = sorted(listed, key=lambda stored: (stored.name, stored.generation))
        found = [stored.resource for stored in in_order if stored.name.startswith(prefix)]
        self._respond(200, json.dumps({'items': found}).encode())

    def _read(self, received: Received, name: str, wanted: Any) -> None:
        generation, end = wanted
        stored = self.storage.find(name, generation)
        if stored is None:
            self._respond(404, json.dumps({'error': {'message': f'No such object: {name}'}}).encode())
        elif received.name is None:
            self._respond(200, json.dumps(stored.resource).encode())
        else:
            self.storage.before_sending(received)
            is_ranged = not self.storage.ignores_ranges and 'Range' in self.headers
            body = self.storage.corrupt(stored.body)
            body = body[received.start : end] if is_ranged else body
            self._respond(206 if is_ranged else 200, body, self.storage.bytes_per_connection)

    def _write(self, name: str, query: Dict[str, str], content: Any) -> None:
        resource, body, replaced = content
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        if resource.get('md5Hash', md5) != md5:
            self._respond(400, json.dumps({'error': {'message': 'The MD5 differs.'}}).encode())
            return
        with self.storage.lock:
            live = self.storage.objects.get(name)
            if query.get('ifGenerationMatch') not in (None, '0' if live is None else str(live.generation)):
                self._respond(412, b'{}')
                return
            newest = max([one.generation for one in self.storage.objects.values()], default=0)
            metadata = resource.get('metadata', {})
            author = Author(metadata[JOB_KEY], int(metadata[ATTEMPT_KEY])) if JOB_KEY in metadata else None
            is_composed, parts = 'md5Hash' not in resource, metadata.get(PARTS_KEY, '')
            marks = tuple(key for key in (END_KEY, SUCCESS_KEY) if metadata.get(key) == 'true')
            now = self.storage.now()
            stored = StoredObject(name, body, newest + 1, author, is_composed, parts, marks, now)
            if live is not None and self.storage.is_versioned:
                self.storage.versions[name, str(live.generation)] = live
            self.storage.objects[name] = stored
            for source in replaced:
                del self.storage.objects[source]
        self._respond(200, json.dumps(stored.resource).encode())

    def _compose(self, name: str, query: Dict[str, str], body: Dict[str, Any]) -> None:
        sources = [self.storage.objects.get(one['name']) for one in body['sourceObjects']]
        found = [one for one in sources if one is not None]
        if len(found) < len(sources) or len(sources) > 32:
            self._respond(404 if len(sources) <= 32 else 400, b'{}')
            return
        replaced = [one.name for one in found] if body.get('deleteSourceObjects') else []
        self._write(name, query, (body['destination'], b''.join(one.body for one in found), replaced))

    def _respond(self, status: int, body: bytes, bytes_max: Optional[int] = None) -> None:
        if getattr(self, '_is_answer_lost', False):
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body[:bytes_max])
        if bytes_max is not None and bytes_max < len(body):
            self.close_connection = True
