"""
A registry on this machine that passes on one image of another one, for Podman: its own downloads start from scratch
when a connection is cut, report no bytes, and need credentials in a file. The relay resumes, counts, and logs in.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Dict, List, Optional, Type

from vm_agent.container.pull_failure import PullError
from vm_agent.container.registry import Repository
from vm_agent.container.transfer import PullProgress
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry

READ_BYTES = 262_144
# Registries accept manifests of up to 4 MiB (OCI Distribution Specification, "Pushing Manifests").
MANIFEST_BYTES_MAX = 4_194_304
MANIFEST_TYPES = (
    'application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, '
    'application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json'
)


class Relay:
    """Serves on 127.0.0.1 while it is entered."""

    def __init__(self, repository: Repository, progress: PullProgress, policy: RetryPolicy) -> None:
        self.repository, self.progress, self.policy = repository, progress, policy
        self.sizes: Dict[str, int] = {}
        """Bytes by digest, of what the manifests name: nothing else is passed on."""
        self.failures: List[str] = []
        relay = self

        class Handler(_Handler):
            def do_GET(self) -> None:
                self.answer(relay)

            do_HEAD = do_GET

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        return f'127.0.0.1:{self._server.server_address[1]}'

    def __enter__(self) -> 'Relay':
        threading.Thread(target=self._server.serve_forever, name='relay', daemon=True).start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def read_manifest(self, reference: str) -> 'tuple[str, bytes]':
        """Returns media type and bytes. Raises PullError or TransientError."""
        with self.repository.open(f'manifests/{reference}', {'Accept': MANIFEST_TYPES}) as response:
            body = bytearray()
            while piece := response.read(READ_BYTES):
                body += piece
                if len(body) > MANIFEST_BYTES_MAX:
                    raise PullError(f'The manifest is longer than declared: more than {MANIFEST_BYTES_MAX} bytes.')
            media_type = response.getheader('content-type') or ''
        self._add_sizes(bytes(body))
        return media_type, bytes(body)

    def _add_sizes(self, body: bytes) -> None:
        try:
            manifest = json.loads(body)
            for blob in (manifest.get('config'), *manifest.get('layers', ()), *manifest.get('manifests', ())):
                if blob:
                    self.sizes[str(blob['digest'])] = int(blob['size'])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PullError('The manifest is not one of an image.') from error


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_: object) -> None:
        return

    def answer(self, relay: Relay) -> None:
        kind, _, reference = self.path.rpartition('/')
        self._is_begun = False
        try:
            if self.path == '/v2/':
                self._begin('application/json', 2)
                self.wfile.write(b'{}')
            elif kind.endswith('/manifests'):
                media_type, body = call_with_retry(lambda: relay.read_manifest(reference), relay.policy)
                self._begin(media_type, len(body))
                if self.command == 'GET':
                    self.wfile.write(body)
            elif kind.endswith('/blobs') and reference in relay.sizes:
                self._begin('application/octet-stream', relay.sizes[reference])
                if self.command == 'GET':
                    _Blob(relay, reference, self).pass_on()
            else:
                self.send_error(404)
        except (PullError, TransientError) as error:
            relay.failures.append(str(error))
            self.close_connection = True
            if not self._is_begun:
                self.send_error(404 if isinstance(error, PullError) else 503)
        except OSError:
            # Podman has gone.
            self.close_connection = True

    def _begin(self, media_type: str, size_bytes: int) -> None:
        self._is_begun = True
        self.send_response(200)
        self.send_header('Content-Type', media_type)
        self.send_header('Content-Length', str(size_bytes))
        self.end_headers()


class _ClientGone(Exception):
    """Podman no longer reads."""


class _Blob:
    """One layer or configuration on its way: a connection that is cut is resumed where it was."""

    def __init__(self, relay: Relay, digest: str, client: _Handler) -> None:
        self._relay, self._digest, self._client = relay, digest, client
        self._size_bytes = relay.sizes[digest]
        self._position = 0

    def pass_on(self) -> None:
        try:
            call_with_retry(self._pass_rest, self._relay.policy, progress=lambda: self._position)
        except _ClientGone as error:
            raise BrokenPipeError from error

    def _pass_rest(self) -> None:
        headers = {'Range': f'bytes={self._position}-'} if self._position > 0 else {}
        with self._relay.repository.open(f'blobs/{self._digest}', headers) as response:
            # A server that ignores the range sends all bytes from the first one.
            skipped_bytes = self._position if response.status == 200 else 0
            while piece := response.read(READ_BYTES):
                if self._relay.policy.cancelled.is_set():
                    raise TransientError('The pull was canceled: the VM is stopping.')
                self._send(piece[skipped_bytes:])
                skipped_bytes = max(0, skipped_bytes - len(piece))
        if self._position < self._size_bytes:
            raise TransientError(f'Layer {self._digest} ended after {self._position} of {self._size_bytes} bytes.')

    def _send(self, piece: bytes) -> None:
        if self._position + len(piece) > self._size_bytes or self._relay.progress.is_exceeded:
            raise PullError(f'Layer {self._digest} is longer than declared: more than {self._size_bytes} bytes.')
        try:
            self._client.wfile.write(piece)
        except OSError as error:
            raise _ClientGone from error
        self._position += len(piece)
        self._relay.progress.set_layer(self._digest, self._position)
