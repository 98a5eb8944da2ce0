"""Conclusions from the texts of engines and registries, and from the sizes of image and disk."""

import json
import os
import stat
import tempfile
import threading
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, List, Mapping, Sequence, Tuple
from unittest import mock

from vm_agent.container.engine import Engine
from vm_agent.container.login import Credentials, is_google_host, logged_in
from vm_agent.container.pull import PullContext, RegistryAccess, pull_image, resolve_credentials
from vm_agent.container.pull_failure import classify, report_of
from vm_agent.container.pull_space import Disk, DiskAllowance, compare_space, find_excess
from vm_agent.container.spec import ContainerSpec
from vm_agent.http.retry import RetryPolicy
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ExitReport, ReplicaEnded, parse_exit_report
from vm_agent.setup.installers import ToolResult

DIGEST = f'sha256:{"ab" * 32}'
ACCOUNT = 'vm@lab.iam.gserviceaccount.com'
GIB = 1 << 30
OWN_DISK = DiskAllowance(lambda: 20 * GIB, 'Request a larger boot disk.', is_own_disk=True)
# Texts as Docker 20.10 and 28, containerd and registries print them.
TEXTS = (
    ('manifest for ghcr.io/lab/digits@sha256:ab not found: manifest unknown: manifest unknown', 'no longer exists'),
    ('Error response from daemon: Head "https://ghcr.io/v2/lab/digits/manifests/x": unauthorized', 'does not let'),
    ('no basic auth credentials', 'does not let'),
    ('pull access denied for lab/digits, repository does not exist or may require \'docker login\'', 'does not let'),
    ('denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource', 'does not let'),
    ('toomanyrequests: You have reached your pull rate limit.', 'limits how many'),
    ('received unexpected HTTP status: 429 Too Many Requests', 'limits how many'),
    ('x509: certificate signed by unknown authority', 'is not trusted'),
    ('http: server gave HTTP response to HTTPS client', 'is not trusted'),
    ('no matching manifest for linux/arm64/v8 in the manifest list entries', 'architecture'),
    ('filesystem layer verification failed for digest sha256:ab', 'do not match its digest'),
    ('write /var/lib/docker/tmp/GetImageBlob1: no space left on device', 'became full'),
    ('dial tcp 10.0.0.1:443: connect: connection refused', 'unreachable'),
    ('dial tcp: lookup ghcr.io on 169.254.169.254:53: no such host', 'unreachable'),
    ('net/http: request canceled (Client.Timeout exceeded while awaiting headers)', 'unreachable'),
    ('unexpected EOF', 'unreachable'),
    ('received unexpected HTTP status: 503 Service Unavailable', 'unreachable'),
    ('Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?', 'unreachable'),
    ('failed size validation: 140000 != 100000: failed precondition', 'do not match its digest'),
    ('something that is not known', 'could not be pulled'),
)


def spec_of(image: str = f'ghcr.io/lab/digits@{DIGEST}', credentials: str = 'NONE') -> ContainerSpec:
    secret = 'projects/lab/secrets/ghcr/versions/latest' if credentials == 'SECRET' else None
    return ContainerSpec(image, 4 * GIB, 8 * GIB, 12 * GIB, (), '', '', credentials, secret)


def context_of(secret: str = 'alice:horse') -> PullContext:
    return PullContext(
        folder=Path('/nonexistent'),
        policy=RetryPolicy(1, 1.0),
        run=lambda _argv, _environment: ToolResult(1, ()),
        disk=OWN_DISK,
        check=lambda: None,
        access=RegistryAccess(lambda: 'ya29.token', lambda: ACCOUNT, lambda _version, _policy: secret),
        mask=Mask(),
        log=lambda _text, _severity: None,
    )


class FailureTest(unittest.TestCase):
    def test_the_texts_of_engines_become_sentences(self) -> None:
        for text, words in TEXTS:
            with self.subTest(text):
                self.assertIn(words, report_of(classify(text), text, spec_of(), ACCOUNT, 'Request more.').message)

    def test_only_what_a_retry_may_fix_is_tried_again(self) -> None:
        retried = {words for text, words in TEXTS if classify(text).is_retried}
        self.assertEqual(retried, {'unreachable', 'limits how many', 'do not match its digest'})

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


class ExcessTest(unittest.TestCase):
    """After a pull, on a disk of 20 GiB of which 12 GiB were free."""

    def find(self, free: float, size: float, allowance: DiskAllowance = OWN_DISK) -> str:
        disks = (Disk(12 * GIB, 20 * GIB), Disk(int(free * GIB), 20 * GIB))
        return find_excess(spec_of(), disks, int(size * GIB), allowance) or ''

    def test_an_image_stays_that_leaves_what_the_job_and_the_machine_need(self) -> None:
        self.assertEqual(self.find(2, 10), '')

    def test_what_other_programs_wrote_meanwhile_is_not_the_images(self) -> None:
        little = replace(OWN_DISK, bytes_left=lambda: 3 * GIB)
        self.assertEqual(self.find(2, 3, little), '')
        self.assertEqual(self.find(0.9, 0.05), '')

    def test_one_that_takes_more_than_the_job_may_write_is_named_with_the_limit(self) -> None:
        little = replace(OWN_DISK, bytes_left=lambda: 3 * GIB)
        self.assertIn('takes more than 3.0 GiB of disk unpacked', self.find(2, 10, little))
        self.assertIn('4.0 GiB compressed. Request a larger boot disk. Or use', self.find(2, 10, little))

    def test_one_that_fills_the_disk_is_named_with_what_to_do(self) -> None:
        self.assertIn('fills the disk: 12.0 GiB were free before it was pulled, and 512.0 MiB after', self.find(0.5, 11))
        shared = replace(OWN_DISK, is_own_disk=False)
        self.assertIn('Free space on the disk of this machine.', self.find(0.5, 11, shared))


class TooLargeTest(unittest.TestCase):
    def test_an_image_that_is_larger_than_the_disk_is_not_pulled(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            docker = Path(folder, 'docker')
            docker.write_text(f'#!/bin/sh\nif [ "$1" = info ]; then echo {folder}; else exit 1; fi\n')
            docker.chmod(0o755)
            pulls: List[Sequence[str]] = []

            def run(argv: Sequence[str], _environment: Mapping[str, str]) -> ToolResult:
                pulls.append(argv)
                return ToolResult(0, ())

            spec = replace(spec_of(), disk_bytes_min=1 << 60)
            with self.assertRaises(ReplicaEnded) as raised:
                pull_image(Engine('28', {'PATH': folder}), spec, replace(context_of(), folder=Path(folder), run=run))
            self.assertEqual((raised.exception.report.reason, pulls), ('DISK_TOO_SMALL', []))


class LoginTest(unittest.TestCase):
    """With an executable called docker on the PATH."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        docker = self.folder / 'docker'
        docker.write_text('#!/bin/sh\necho unix:///home/alice/docker.sock\n')
        docker.chmod(0o755)
        self.engine = Engine('28', {'PATH': self.folder.as_posix()})
        self.warnings: List[str] = []

    def log_in(self, image: str, credentials: Credentials) -> Tuple[Mapping[str, str], Any, List[Path]]:
        """Returns the variables of the command, what it reads, and the files that hold anything."""
        with logged_in(self.engine, image, credentials, folder=self.folder, warn=self.warnings.append) as environment:
            path = Path(environment['DOCKER_CONFIG']) / 'config.json'
            self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            # Docker may read it more than once.
            self.assertEqual(path.read_text(), path.read_text())
            files = [entry for entry in path.parent.iterdir() if not entry.is_symlink()]
            read = json.loads(path.read_text())
        self.assertEqual(os.listdir(self.folder), ['docker'])
        return environment, read, files

    def test_docker_reads_the_login_of_one_registry_and_it_is_in_no_file(self) -> None:
        environment, read, files = self.log_in(f'ghcr.io/lab/digits@{DIGEST}', ('alice', 'horse'))
        self.assertEqual(read, {'auths': {'ghcr.io': {'auth': 'YWxpY2U6aG9yc2U='}}})
        self.assertEqual((files, self.warnings), ([], []))
        self.assertNotIn('horse', json.dumps(dict(environment)))

    def test_docker_finds_its_daemon_without_the_configuration_of_the_user(self) -> None:
        environment, read, _ = self.log_in(f'ghcr.io/lab/digits@{DIGEST}', None)
        self.assertEqual(environment['DOCKER_HOST'], 'unix:///home/alice/docker.sock')
        # An empty one would have Docker ask the machine's credential helper (docker/cli, LoadDefaultConfigFile).
        self.assertEqual(read, {'auths': {'ghcr.io': {}}})

    def test_docker_hub_has_its_own_name_in_the_configuration(self) -> None:
        _, read, _ = self.log_in(f'docker.io/lab/digits@{DIGEST}', ('alice', 'horse'))
        self.assertEqual(list(read['auths']), ['https://index.docker.io/v1/'])

    def test_a_machine_without_files_in_memory_says_where_the_login_is_until_the_pull_ends(self) -> None:
        with mock.patch('vm_agent.container.login.hasattr', lambda _module, _name: False, create=True):
            _, _, files = self.log_in(f'ghcr.io/lab/digits@{DIGEST}', ('alice', 'horse'))
        self.assertEqual([path.name for path in files], ['config.json'])
        self.assertIn('until the pull ends', self.warnings[0])


class UnreachableHostTest(unittest.TestCase):
    def test_is_the_registry_outside_of_google_to_which_no_connection_was_made(self) -> None:
        waiting = 'Get "https://registry-1.docker.io/v2/": net/http: request canceled while waiting for connection'
        for image, text, host in (
            ('docker.io/library/python', waiting, 'docker.io'),
            ('ghcr.io/o/a', 'dial tcp 140.82.121.33:443: i/o timeout', 'ghcr.io'),
            ('ghcr.io/o/a', 'received unexpected HTTP status: 503 Service Unavailable', None),
            ('ghcr.io/o/a', 'unexpected EOF', None),
            ('us-docker.pkg.dev/p/r/a', 'dial tcp 1.2.3.4:443: i/o timeout', None),
        ):
            report = report_of(classify(text), text, replace(spec_of(), image=f'{image}@{DIGEST}'), 'vm', '')
            self.assertEqual((report.reason, report.unreachable_host), ('SERVICE_UNREACHABLE', host), text)
            self.assertEqual(parse_exit_report(report.to_json()).unreachable_host, host)


class TriesTest(unittest.TestCase):
    """With an executable called docker, whose pulls fail with a text until it is empty."""

    def pull(self, texts: Sequence[str], is_stopped: bool = False) -> Tuple[str, List[str]]:
        pulls: List[str] = []
        cancelled = threading.Event()

        def run(argv: Sequence[str], _environment: Mapping[str, str]) -> ToolResult:
            self.assertEqual(argv[:3], ['docker', 'pull', '--quiet'])
            pulls.append(argv[3])
            text = texts[len(pulls) - 1]
            return ToolResult(1, (text,)) if text else ToolResult(0, ())

        def check() -> None:
            if is_stopped:
                raise ReplicaEnded(ExitReport('STOPPED', 'The VM is shut down.'))

        policy = RetryPolicy(1, 1.0, cancelled)
        context = replace(context_of(), run=run, check=check, policy=policy, pauses_seconds=(0.01, 0.01))
        with tempfile.TemporaryDirectory() as folder:
            try:
                pull_image(Engine('28', {'PATH': '/nonexistent'}), spec_of(), replace(context, folder=Path(folder)))
                return 'PULLED', pulls
            except ReplicaEnded as ended:
                return ended.report.reason, pulls

    def test_a_connection_that_breaks_is_tried_three_times(self) -> None:
        self.assertEqual(self.pull(['unexpected EOF', 'unexpected EOF', '']), ('PULLED', [spec_of().image] * 3))
        self.assertEqual(self.pull(['unexpected EOF'] * 9), ('SERVICE_UNREACHABLE', [spec_of().image] * 3))

    def test_what_no_retry_fixes_is_tried_once(self) -> None:
        self.assertEqual(self.pull(['denied: no', '']), ('IMAGE_PULL_FAILED', [spec_of().image]))
        self.assertEqual(self.pull(['write /x: no space left on device', '']), ('DISK_TOO_SMALL', [spec_of().image]))

    def test_a_stop_counts_more_than_the_failure_that_it_caused(self) -> None:
        self.assertEqual(self.pull(['unexpected EOF'], is_stopped=True), ('STOPPED', [spec_of().image]))


if __name__ == '__main__':
    unittest.main()
