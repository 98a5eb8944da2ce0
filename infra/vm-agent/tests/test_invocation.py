import csv
import sys
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.container.engine import Engine
from vm_agent.container.gpus import device_arguments
from vm_agent.container.invocation import Invocation, Mount, split_variables
from vm_agent.container.not_started import describe_failure, find_init_failure
from vm_agent.container.process import to_return_code
from vm_agent.container.variables import forwarded_variables
from vm_agent.program.exit_report import ReplicaEnded

DOCKER = Engine('28', {'PATH': '/usr/bin', 'HOME': '/root', 'DOCKER_HOST': 'unix:///run/d.sock'})
INVOCATION = Invocation(
    name='dropforge-1',
    vm='1@/home',
    image='host/image@sha256:0',
    argv=['train', '--fast'],
    variables={},
    mounts=[Mount(Path('/a,b'), '/gcs/bucket/c:"d"', is_read_only=True)],
    working_directory=None,
    user=None,
    shm_bytes=1_000,
    memory_bytes=None,
    nice=0,
    devices=(),
)


class InvocationTest(unittest.TestCase):
    def test_gives_a_container_no_more_than_it_needs(self) -> None:
        arguments = INVOCATION.arguments()
        text = ' '.join(arguments)
        self.assertIn('--cap-drop ALL --security-opt no-new-privileges', text)
        self.assertNotIn('privileged ', text.replace('no-new-privileges ', ''))
        self.assertNotIn('docker.sock', text)
        for capability in ('NET_RAW', 'MKNOD', 'SYS_ADMIN', 'SYS_PTRACE', 'NET_BIND_SERVICE'):
            self.assertNotIn(capability, text)

    def test_mounts_paths_with_commas_quotes_and_colons(self) -> None:
        mount = INVOCATION.arguments()[INVOCATION.arguments().index('--mount') + 1]
        (fields,) = csv.reader([mount])
        self.assertEqual(fields, ['type=bind', 'source=/a,b', 'target=/gcs/bucket/c:"d"', 'readonly'])

    def test_applies_niceness_and_memory_only_if_there_is_a_limit(self) -> None:
        self.assertNotIn('--memory', INVOCATION.arguments())
        self.assertNotIn('--cpu-shares', INVOCATION.arguments())
        limited = replace(INVOCATION, memory_bytes=5, nice=10).arguments()
        self.assertIn('--memory 5 --memory-swap 5', ' '.join(limited))
        self.assertIn('--cpu-shares 109', ' '.join(limited))

    def test_passes_no_value_as_an_argument(self) -> None:
        variables = {'TOKEN': 'secret', 'LINES': 'one\ntwo', 'HOME': '/secret', 'DOCKER_HOST': 'tcp://secret', 'PATH': '/usr/bin'}
        arguments, environment, text = split_variables(DOCKER, variables)
        self.assertNotIn('secret', ' '.join(arguments))
        self.assertEqual(environment['DOCKER_HOST'], 'unix:///run/d.sock')
        self.assertEqual(environment['HOME'], '/root')
        self.assertEqual((environment['TOKEN'], environment['LINES']), ('secret', 'one\ntwo'))
        self.assertEqual(text, 'HOME=/secret\nDOCKER_HOST=tcp://secret\nPATH=/usr/bin\n')

    def test_a_job_sets_no_variable_of_the_engines_command(self) -> None:
        # Root runs the command on the machine: its loader, storage and notifications are not the job's.
        hostile = ('LD_PRELOAD', 'GLIBC_TUNABLES', 'GCONV_PATH', 'STORAGE_DRIVER', '_CONTAINERS_ROOTLESS_UID', 'NOTIFY_SOCKET')
        _, environment, text = split_variables(DOCKER, {name: '/output/x' for name in hostile})
        self.assertEqual(environment, DOCKER.environment)
        self.assertEqual(text.count('/output/x'), len(hostile))
        # An environment file has no values of several lines, and a file can have a name of several lines.
        with self.assertRaises(ReplicaEnded) as ended:
            split_variables(DOCKER, {'LD_PRELOAD': '/output/x\n'})
        self.assertIn('LD_PRELOAD', ended.exception.report.message)
        _, environment, _ = split_variables(DOCKER, {'GOOGLE_CREDENTIALS': '{\n}'})
        self.assertEqual(environment['GOOGLE_CREDENTIALS'], '{\n}')

    def test_forwards_the_network_of_the_machine_and_nothing_else(self) -> None:
        inherited = {
            **{name: 'x' for name in ('https_proxy', 'NO_PROXY', 'GCE_METADATA_HOST', 'REQUESTS_CA_BUNDLE', 'SSL_CERT_FILE')},
            **{name: 'x' for name in ('CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE', 'HTTPLIB2_CA_CERTS', 'TENSORSTORE_CA_BUNDLE')},
            **{name: 'y' for name in ('HOME', 'PATH', 'TMPDIR', 'LANG', 'DROPFORGE_HOME', 'DOCKER_HOST', 'AWS_SECRET_ACCESS_KEY')},
            # Passwords of package indexes and credentials of this machine's user.
            **{name: 'y' for name in ('PIP_CONFIG_FILE', 'PIP_INDEX_URL', 'CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE')},
        }
        self.assertEqual(set(forwarded_variables(inherited).values()), {'x'})
        self.assertEqual(len(forwarded_variables(inherited)), 8)

    def test_requests_the_gpus_of_the_job(self) -> None:
        self.assertEqual(device_arguments(DOCKER, 4), ('--gpus', '4'))


class StartFailureTest(unittest.TestCase):
    def reason(self, line: str, argv: str = 'train') -> str:
        report = describe_failure(replace(INVOCATION, argv=[argv]), [line])
        return f'{report.reason}: {report.message}'

    def test_names_what_is_missing(self) -> None:
        missing = 'exec: "train": executable file not found in $PATH: unknown'
        self.assertIn('`train` was not found in the image', self.reason(missing))
        no_shell = '[FATAL tini (7)] exec /bin/sh failed: No such file or directory'
        self.assertIn('has no shell `/bin/sh`', self.reason(no_shell, '/bin/sh'))
        self.assertIn('may not be executed', self.reason('[FATAL tini (7)] exec train failed: Permission denied'))
        self.assertIn('not a program for this machine', self.reason('exec /train: exec format error'))
        self.assertIn('has no user', self.reason('unable to find user bob: no matching entries in passwd file'))
        for text in (
            'Cannot mkdir: /etc/passwd is not a directory',
            'workdir "/etc/passwd" exists on container 42fb, but is not a directory',
            'error mounting "/o" to rootfs at "/gcs/x": "/m/proc/x" cannot be mounted because it is inside /proc: unknown',
        ):
            self.assertIn('where its container needs a folder', self.reason(text))
        for text in (
            'error closing exec fds: open /proc/self/fd: no such file or directory: unknown',
            'error reopening /dev/null inside container: open /dev/null: permission denied: OCI permission denied',
        ):
            self.assertIn('Remove VOLUME /', self.reason(text, 'sh'))
        for text in ("[Errno 7] Argument list too long: 'docker'", 'exec /sbin/docker-init: argument list too long'):
            self.assertIn('longer than Linux accepts', self.reason(text, 'sh'))
        nameless = 'error during container init: environment variable name can\'t be empty: "=x": unknown'
        self.assertIn('without a name', self.reason(nameless))
        gpus = 'could not select device driver "" with capabilities: [[gpu]]'
        self.assertIn('NVIDIA Container Toolkit', self.reason(gpus))
        self.assertTrue(self.reason('write /x: no space left on device').startswith('DISK_FULL'))
        self.assertTrue(self.reason('something else').startswith('CONTAINER_NOT_STARTED'))

    def test_an_exit_code_is_the_programs_own_unless_its_init_says_otherwise(self) -> None:
        failed = ['[FATAL tini (7)] exec train failed: No such file or directory']
        self.assertIsNotNone(find_init_failure(INVOCATION, 127, failed))
        too_long = ['exec /sbin/docker-init: argument list too long']
        self.assertIsNotNone(find_init_failure(INVOCATION, 1, too_long))
        self.assertIsNone(find_init_failure(INVOCATION, 127, ['sh: train: not found']))
        self.assertIsNone(find_init_failure(INVOCATION, 0, failed))

    def test_an_exit_code_above_128_is_a_signal_if_there_is_one(self) -> None:
        codes = (0, 7, 126, 128, 137, 143, 255)
        self.assertEqual([to_return_code(code) for code in codes], [0, 7, 126, 128, -9, -15, 255])

    def test_an_exit_code_is_the_programs_own_if_its_signal_ends_no_process(self) -> None:
        child, urgent = 145, 151
        self.assertEqual([to_return_code(code) for code in (child, urgent)], [child, urgent])


if __name__ == '__main__':
    unittest.main()
