"""What follows from the texts of engines and registries, and from the sizes of image and disk."""

import json
import threading
import unittest
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Callable, List, Optional, Tuple

from vm_agent.container.docker_pull import DockerPull
from vm_agent.container.pull import PullContext, RegistryAccess, resolve_credentials
from vm_agent.container.pull_failure import PullError, classify, report_of
from vm_agent.container.pull_space import Disk, DiskAllowance, compare_space
from vm_agent.container.registry import Repository, is_google_host
from vm_agent.container.spec import ContainerSpec
from vm_agent.container.transfer import EXTRA_BYTES_MAX, LOG_SECONDS, PullProgress, Transfer
from vm_agent.http.retry import RetryPolicy
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.installers import ToolResult

DIGEST = f'sha256:{"ab" * 32}'
ACCOUNT = 'vm@lab.iam.gserviceaccount.com'
GIB = 1 << 30
OWN_DISK = DiskAllowance(lambda: 20 * GIB, 'Request a larger boot disk.', is_own_disk=True)
# Texts as Docker 20.10 and 28, containerd, Podman 4.3 and registries print them.
TEXTS = (
    ('manifest for ghcr.io/lab/digits@sha256:ab not found: manifest unknown: manifest unknown', 'no longer exists'),
    ('reading manifest sha256:ab in ghcr.io/lab/digits: manifest unknown', 'no longer exists'),
    ('GET https://ghcr.io/v2/lab/digits/manifests/x answered 404: {"errors":[{"code":"NAME_UNKNOWN"}]}', 'no longer'),
    ('Error response from daemon: Head "https://ghcr.io/v2/lab/digits/manifests/x": unauthorized', 'does not let'),
    ('no basic auth credentials', 'does not let'),
    ('pull access denied for lab/digits, repository does not exist or may require \'docker login\'', 'does not let'),
    ('denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource', 'does not let'),
    ('unable to retrieve auth token: invalid username/password: unauthorized', 'does not let'),
    ('toomanyrequests: You have reached your pull rate limit.', 'limits how many'),
    ('received unexpected HTTP status: 429 Too Many Requests', 'limits how many'),
    ('x509: certificate signed by unknown authority', 'is not trusted'),
    ('http: server gave HTTP response to HTTPS client', 'is not trusted'),
    ('[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate', 'is not trusted'),
    ('no matching manifest for linux/arm64/v8 in the manifest list entries', 'architecture'),
    ('no image found in image index for architecture "arm64", variant "", OS "linux"', 'architecture'),
    ('filesystem layer verification failed for digest sha256:ab', 'do not match its digest'),
    ('Error: writing blob: adding layer with blob "sha256:ab": layer not known', 'were deleted from the machine'),
    ('write /var/lib/docker/tmp/GetImageBlob1: no space left on device', 'became full'),
    ('dial tcp 10.0.0.1:443: connect: connection refused', 'unreachable'),
    ('dial tcp: lookup ghcr.io on 169.254.169.254:53: no such host', 'unreachable'),
    ('net/http: request canceled (Client.Timeout exceeded while awaiting headers)', 'unreachable'),
    ('unexpected EOF', 'unreachable'),
    ('received unexpected HTTP status: 503 Service Unavailable', 'unreachable'),
    ('something that is not known', 'could not be pulled'),
)


def spec_of(image: str = f'ghcr.io/lab/digits@{DIGEST}', credentials: str = 'NONE') -> ContainerSpec:
    secret = 'projects/lab/secrets/ghcr/versions/latest' if credentials == 'SECRET' else None
    return ContainerSpec(image, 4 * GIB, (), '', '', credentials, secret)


def context_of(secret: str = 'alice:horse') -> PullContext:
    return PullContext(
        folder=Path('/nonexistent'),
        policy=RetryPolicy(1, 1.0),
        run=lambda _argv, _environment, _find_excess: ToolResult(1, ()),
        disk=OWN_DISK,
        check=lambda: None,
        access=RegistryAccess(lambda: 'ya29.token', lambda: ACCOUNT, lambda _version, _policy: secret),
        mask=Mask(),
        report=lambda _transfer: None,
        log=lambda _text, _severity: None,
    )


class FailureTest(unittest.TestCase):
    def test_the_texts_of_engines_become_sentences(self) -> None:
        for text, words in TEXTS:
            with self.subTest(text):
                self.assertIn(words, report_of(classify(text), text, spec_of(), ACCOUNT, 'Request more.').message)

    def test_only_what_a_retry_may_fix_is_tried_again(self) -> None:
        tries = {words: classify(text).tries_max for text, words in TEXTS}
        self.assertGreater(tries['unreachable'], 1_000)
        self.assertEqual([tries[words] for words in ('no longer exists', 'does not let', 'architecture')], [1, 1, 1])
        self.assertTrue(1 < tries['limits how many'] < 10)
        self.assertTrue(1 < tries['were deleted from the machine'] < 10)

    def test_a_rejection_names_who_was_rejected_and_what_gives_access(self) -> None:
        for credentials, words in (
            ('NONE', 'Name a secret with the credentials'),
            ('GOOGLE', f'Grant roles/artifactregistry.reader on the repository to serviceAccount:{ACCOUNT}'),
            ('SECRET', 'with the secret projects/lab/secrets/ghcr/versions/latest'),
        ):
            with self.subTest(credentials):
                spec = spec_of(credentials=credentials)
                report = report_of(classify('unauthorized'), 'unauthorized', spec, ACCOUNT, '')
                self.assertEqual((report.reason, report.evidence), ('IMAGE_PULL_FAILED', ('unauthorized',)))
                self.assertIn(words, report.message)


class CredentialsTest(unittest.TestCase):
    def test_the_access_token_is_for_hosts_of_google_only(self) -> None:
        for host in ('us-docker.pkg.dev', 'gcr.io', 'eu.gcr.io'):
            with self.subTest(host):
                self.assertTrue(is_google_host(host))
                image = f'{host}/lab/digits@{DIGEST}'
                self.assertEqual(
                    resolve_credentials(spec_of(image, 'GOOGLE'), context_of()), ('oauth2accesstoken', 'ya29.token')
                )
        for host in ('pkg.dev.evil.example', 'evilgcr.io', 'gcr.io.example', 'gcr.io:8443', 'ghcr.io', 'evil-pkg.dev'):
            with self.subTest(host):
                image = f'{host}/lab/digits@{DIGEST}'
                self.assertIsNone(resolve_credentials(spec_of(image, 'GOOGLE'), context_of()))

    def test_a_secret_has_a_user_and_a_password_which_may_contain_colons_and_are_masked(self) -> None:
        context = context_of('alice:horse:battery\n')
        self.assertEqual(resolve_credentials(spec_of(credentials='SECRET'), context), ('alice', 'horse:battery'))
        self.assertEqual(context.mask('login horse:battery'), 'login ***')

    def test_a_secret_of_another_form_is_named_and_not_repeated(self) -> None:
        for secret in ('horse-battery', ':horse', 'alice:', ''):
            with self.subTest(secret), self.assertRaises(ReplicaEnded) as raised:
                resolve_credentials(spec_of(credentials='SECRET'), context_of(secret))
            report = raised.exception.report
            self.assertEqual(report.reason, 'SECRET_UNAVAILABLE')
            self.assertIn('USER:PASSWORD', report.message)
            self.assertNotIn('horse', report.message)


class SpaceTest(unittest.TestCase):
    def test_an_image_that_fits_unpacked_is_pulled(self) -> None:
        self.assertIsNone(compare_space(spec_of(), Disk(8 * GIB, 20 * GIB), OWN_DISK, has_images=False))

    def test_a_disk_that_is_too_small_is_reported_with_the_size_to_request(self) -> None:
        for allowance, remedy in (
            (OWN_DISK, 'Request a boot disk of 26 GiB (bootDiskSizeGb)'),
            (replace(OWN_DISK, is_own_disk=False), 'Free 6 GiB on the disk of this machine'),
        ):
            report = compare_space(spec_of(), Disk(7 * GIB, 20 * GIB), allowance, has_images=False)
            assert report is not None
            self.assertEqual(report.reason, 'DISK_TOO_SMALL')
            self.assertIn(f'needs 8.0 GiB of disk, and 7.0 GiB are free. {remedy}, or use', report.message)

    def test_layers_of_other_images_may_be_those_of_this_one(self) -> None:
        self.assertIsNone(compare_space(spec_of(), Disk(7 * GIB, 20 * GIB), OWN_DISK, has_images=True))
        self.assertIsNotNone(compare_space(spec_of(), Disk(3 * GIB, 20 * GIB), OWN_DISK, has_images=True))


class ProgressTest(unittest.TestCase):
    def setUp(self) -> None:
        self.transfers: List[Transfer] = []
        self.lines: List[str] = []
        self.progress = PullProgress(100, self.transfers.append, lambda text, _severity: self.lines.append(text))

    def test_adds_layers_and_never_goes_back(self) -> None:
        for layer, done_bytes in (('a', 10), ('b', 20), ('a', 30), ('a', 5)):
            self.progress.set_layer(layer, done_bytes)
        self.assertEqual([transfer.done_bytes for transfer in self.transfers], [0, 10, 30, 50, 50])
        self.assertEqual({transfer.total_bytes for transfer in self.transfers}, {100})

    def test_logs_no_line_before_ten_seconds_have_passed(self) -> None:
        for done_bytes in range(100):
            self.progress.set_layer('a', done_bytes)
        self.assertEqual((self.lines, LOG_SECONDS), ([], 10.0))

    def test_notices_more_bytes_than_the_image_has(self) -> None:
        self.progress.set_layer('a', 100 + EXTRA_BYTES_MAX)
        self.assertFalse(self.progress.is_exceeded)
        self.progress.set_layer('b', 1)
        self.assertTrue(self.progress.is_exceeded)
        self.assertEqual(self.transfers[-1].done_bytes, 100)


class DockerEventsTest(unittest.TestCase):
    def read(self, *events: Any, status: int = 200) -> Tuple[List[int], Optional[str]]:
        transfers: List[Transfer] = []
        progress = PullProgress(1_000, transfers.append, lambda _text, _severity: None)
        pull = DockerPull('/nonexistent', f'ghcr.io/a@{DIGEST}', None, progress)
        for event in events:
            pull._read_event(event, status)
        return [transfer.done_bytes for transfer in transfers], pull._error

    def test_downloads_are_counted_and_extractions_are_not(self) -> None:
        def event(text: str, current: int) -> Any:
            return {'status': text, 'id': 'a', 'progressDetail': {'current': current, 'total': 50}}

        complete = {'status': 'Download complete', 'id': 'a'}
        done, error = self.read(event('Downloading', 10), event('Extracting', 50), complete)
        self.assertEqual((done, error), ([0, 10, 50], None))

    def test_an_error_is_reported_from_the_stream_and_from_a_rejected_request(self) -> None:
        self.assertEqual(self.read({'errorDetail': {'message': 'EOF'}, 'error': 'EOF'})[1], 'EOF')
        self.assertEqual(self.read({'message': 'manifest unknown'}, status=404)[1], 'manifest unknown')


class FakeRegistry:
    """Answers each request with what `answer(path, headers)` returns: status, headers and body."""

    def __init__(self, answer: Callable[[str, Any], Tuple[int, Any, bytes]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = answer(self.path, self.headers)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self.server = HTTPServer(('127.0.0.1', 0), Handler)
        self.host = f'127.0.0.1:{self.server.server_address[1]}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class RepositoryTest(unittest.TestCase):
    def fetch(self, registry: FakeRegistry) -> bytes:
        self.addCleanup(registry.close)
        with Repository(registry.host, 'lab/digits', ('alice', 'horse')).open('blobs/x', {}) as response:
            return response.read()

    def test_logs_in_where_the_registry_says_and_asks_for_this_repository_only(self) -> None:
        seen: List[str] = []

        def answer(path: str, headers: Any) -> Tuple[int, Any, bytes]:
            seen.append(path)
            if path.startswith('/token'):
                return 200, {}, json.dumps({'access_token': headers['Authorization'][6:]}).encode()
            if headers.get('Authorization') == 'Bearer YWxpY2U6aG9yc2U=':
                return 200, {}, b'layer'
            return 401, {'WWW-Authenticate': f'Bearer realm="http://{registry.host}/token",service="s"'}, b''

        registry = FakeRegistry(answer)
        self.assertEqual(self.fetch(registry), b'layer')
        self.assertIn('/token?scope=repository%3Alab%2Fdigits%3Apull&service=s', seen)

    def test_a_password_is_asked_for_once(self) -> None:
        seen: List[Any] = []

        def answer(_path: str, headers: Any) -> Tuple[int, Any, bytes]:
            seen.append(headers.get('Authorization'))
            return 401, {'WWW-Authenticate': 'Basic realm="r"'}, b'no'

        with self.assertRaisesRegex(PullError, 'answered 401: no'):
            self.fetch(FakeRegistry(answer))
        self.assertEqual(seen, [None, 'Basic YWxpY2U6aG9yc2U='])

    def test_a_redirect_to_another_server_carries_no_credentials_and_needs_https(self) -> None:
        def answer(_path: str, headers: Any) -> Tuple[int, Any, bytes]:
            if 'Authorization' not in headers:
                return 401, {'WWW-Authenticate': 'Basic realm="r"'}, b''
            return 307, {'Location': 'http://169.254.169.254/computeMetadata/v1/'}, b''

        with self.assertRaisesRegex(PullError, 'redirects to an address without https'):
            self.fetch(FakeRegistry(answer))

    def test_redirects_end(self) -> None:
        with self.assertRaisesRegex(PullError, 'redirects more than 5 times'):
            self.fetch(FakeRegistry(lambda path, _headers: (307, {'Location': path}, b'')))


if __name__ == '__main__':
    unittest.main()
