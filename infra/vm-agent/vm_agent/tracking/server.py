"""
MLflow's tracking server on 127.0.0.1 of the VM. The client repeats requests for minutes if the server is busy or fails,
and the program waits: the server answers at once, and in doubt drops a value rather than fail a training.
"""

import json
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO, Dict, Mapping, cast
from urllib.parse import parse_qs, unquote, urlsplit

from vm_agent.tracking.artifacts import ArtifactFolder
from vm_agent.tracking.endpoints import call
from vm_agent.tracking.error import TrackingError, invalid
from vm_agent.tracking.run_store import RunStore

# The oldest protocol that has all of the endpoints; clients of 3.x ask, and fall back.
SERVER_VERSION = '3.0.0'
ARTIFACTS = '/api/2.0/mlflow-artifacts/artifacts'
# MLflow's client sends at most 1 MB at once, but for the JSON of a model.
BODY_BYTES_MAX = 4_194_304
ARTIFACT_BYTES_MAX = 1_099_511_627_776
# A process of the program keeps up to ten open.
CONNECTION_COUNT_MAX = 256
# Above it, connections are closed after each answer, so that others get their turn.
KEPT_CONNECTION_COUNT_MAX = 128
IDLE_SECONDS_MAX = 30.0
QUERY_FIELDS_MAX = 100


class TrackingServer(ThreadingHTTPServer):
    """Not started until `start`."""

    daemon_threads = True
    request_queue_size = 1_024

    def __init__(self, store: RunStore, artifacts: ArtifactFolder, port: int = 0) -> None:
        super().__init__(('127.0.0.1', port), _Handler)
        self.store = store
        self.artifacts = artifacts
        self.lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(CONNECTION_COUNT_MAX)
        self._connection_count = 0

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.server_address[1]}'

    @property
    def is_crowded(self) -> bool:
        return self._connection_count > KEPT_CONNECTION_COUNT_MAX

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, name='mlflow-server', daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Waits while too many connections are open; the kernel holds further ones meanwhile."""
        self._slots.acquire()
        self._connection_count += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connection_count -= 1
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is not an error; a defect was already answered and logged."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = IDLE_SECONDS_MAX
    disable_nagle_algorithm = True
    wbufsize = 65_536

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        server = cast(TrackingServer, self.server)
        self._unread_bytes = 0
        try:
            self._check_origin(server.server_address[1])
            self._unread_bytes = self._read_length()
            self._dispatch(server)
        except TrackingError as error:
            self._send_json(error.to_json(), error.status)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception:
            # A status of 5xx would make the client wait for minutes before it fails the program.
            trace = ''.join(traceback.format_exception(*sys.exc_info()))
            server.store.warn(f'a request could not be answered. {trace[-1_000:]}')
            error = TrackingError('INTERNAL_ERROR', "The VM's tracking server failed: see the job's log.")
            self._send_json(error.to_json(), error.status)

    def _check_origin(self, port: int) -> None:
        """Web pages are refused, also if they have a name resolved to this machine."""
        host = self.headers.get('Host', '')
        if host not in (f'127.0.0.1:{port}', f'localhost:{port}') or self.headers.get('Origin') is not None:
            raise TrackingError('PERMISSION_DENIED', 'Only programs of this VM may use its tracking server.', 403)

    def _read_length(self) -> int:
        if self.headers.get('Transfer-Encoding') is not None:
            self.close_connection = True
            # The client sends an empty file so: requests has no length for it.
            return 0 if self.command == 'PUT' and self._skip_empty_chunks() else self._reject_chunks()
        length = self.headers.get('Content-Length') or '0'
        if not length.isdigit() or len(length) > 15:
            raise invalid('The Content-Length is not a number.')
        return int(length)

    def _skip_empty_chunks(self) -> bool:
        return self.rfile.readline(100).strip() == b'0'

    def _reject_chunks(self) -> int:
        raise TrackingError('INVALID_PARAMETER_VALUE', 'A request needs a Content-Length.', 411)

    def _dispatch(self, server: TrackingServer) -> None:
        parts = urlsplit(self.path)
        if parts.path.startswith(f'{ARTIFACTS}/') or parts.path == ARTIFACTS:
            self._serve_artifact(server.artifacts, unquote(parts.path[len(ARTIFACTS) :]).strip('/'), parts.query)
        elif parts.path in ('/health', '/version'):
            self._send(200, 'text/plain', (SERVER_VERSION if parts.path == '/version' else 'OK').encode())
        elif parts.path.startswith('/api/2.0/mlflow-artifacts/mpu/'):
            message = 'Multipart upload is not supported for the current artifact repository'
            raise TrackingError('NOT_IMPLEMENTED', message, 501)
        elif parts.path.endswith('/mlflow/artifacts/list'):
            self._list_run(server, self._query(parts.query))
        else:
            body = self._query(parts.query) if self.command == 'GET' else self._read_json()
            with server.lock:
                answer = json.dumps(call(server.store, self.command, unquote(parts.path), body))
            self._send(200, 'application/json', answer.encode())

    def _list_run(self, server: TrackingServer, query: Mapping[str, Any]) -> None:
        path = str(query.get('path') or '').strip('/')
        with server.lock:
            run = server.store.run(str(query.get('run_id') or query.get('run_uuid') or ''))
        files = server.artifacts.list(f'{run.run_id}/{path}' if path else run.run_id)
        for file in files:
            file['path'] = f'{path}/{file["path"]}' if path else file['path']
        self._send_json({'root_uri': run.info()['artifact_uri'], 'files': files})

    def _serve_artifact(self, artifacts: ArtifactFolder, name: str, query: str) -> None:
        if self.command == 'PUT':
            if self._unread_bytes > ARTIFACT_BYTES_MAX:
                raise TrackingError('INVALID_PARAMETER_VALUE', 'The artifact is too large.', 413)
            reader = _Counted(self)
            artifacts.write(name, cast(BinaryIO, reader), self._unread_bytes)
            self._send_json({})
        elif self.command == 'DELETE':
            artifacts.delete(name)
            self._send_json({})
        elif self.command == 'GET' and name == '':
            path = str(self._query(query).get('path') or '').strip('/')
            self._send_json({'files': artifacts.list(path) if path else []})
        elif self.command == 'GET':
            self._send_file(*artifacts.open(name))
        else:
            raise TrackingError('ENDPOINT_NOT_FOUND', 'Artifacts are sent with PUT.', 404)

    def _send_file(self, file: BinaryIO, size_bytes: int) -> None:
        with file:
            self.send_response(200)
            self.send_header('Content-Type', 'application/octet-stream')
            self.send_header('Content-Length', str(size_bytes))
            self.end_headers()
            left = size_bytes
            while left > 0 and (data := file.read(min(1_048_576, left))):
                self.wfile.write(data)
                left -= len(data)
        if left > 0:
            # The file became shorter: the client must notice.
            self.close_connection = True

    def _query(self, query: str) -> Dict[str, Any]:
        try:
            fields = parse_qs(query, max_num_fields=QUERY_FIELDS_MAX)
        except ValueError:
            raise invalid(f'The query has more than {QUERY_FIELDS_MAX} fields.') from None
        return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}

    def _read_json(self) -> Mapping[str, Any]:
        size_bytes = self._unread_bytes
        if size_bytes > BODY_BYTES_MAX:
            message = f'The request has {size_bytes} bytes; the most is {BODY_BYTES_MAX}. Log less at once.'
            raise TrackingError('INVALID_PARAMETER_VALUE', message, 413)
        data = _Counted(self).read(size_bytes) if size_bytes else b'{}'
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise invalid('The body of the request is not valid JSON.') from None
        if not isinstance(body, dict):
            raise invalid('The body of the request is not a JSON object.')
        return body

    def _send_json(self, body: Mapping[str, Any], status: int = 200) -> None:
        self._send(status, 'application/json', json.dumps(body).encode())

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        if self._unread_bytes > 0:
            self._drain()
        self.send_response(status)
        self.send_header('Content-Type', content_type)
        self.send_header('Content-Length', str(len(body)))
        if self.close_connection or cast(TrackingServer, self.server).is_crowded:
            self.close_connection = True
            self.send_header('Connection', 'close')
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _drain(self) -> None:
        """A client that is still sending would miss an answer before the connection is closed."""
        self.close_connection = True
        reader, left = _Counted(self), min(self._unread_bytes, 16 * BODY_BYTES_MAX)
        while left > 0 and (data := reader.read(min(65_536, left))):
            left -= len(data)


class _Counted:
    """The body of a request."""

    def __init__(self, handler: _Handler) -> None:
        self._handler = handler

    def read(self, size_bytes: int) -> bytes:
        data = self._handler.rfile.read(min(size_bytes, self._handler._unread_bytes))
        self._handler._unread_bytes -= len(data)
        return data
