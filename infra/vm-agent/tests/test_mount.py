"""Buckets at /gcs by Cloud Storage FUSE, for which a file system in memory stands in."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

AGENT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(AGENT))

from vm_agent.paths.mount import BUCKETS, BucketMount  # noqa: E402

# Mounts the last argument, and keeps the others.
GCSFUSE = """#!/bin/sh
echo "$@" >"$(dirname "$0")/arguments"
echo $$ >"$(dirname "$0")/pid"
for point; do :; done
mount -t tmpfs none "$point" && exec sleep 60
"""
BROKEN = '#!/bin/sh\necho "no credentials" >&2\nexit 1\n'
# The agent's part; the shell stands for a program in any language.
AGENT_RUN = """
import subprocess, sys
from pathlib import Path
from vm_agent.paths.mount import BucketMount
home = Path(sys.argv[1])
mount = BucketMount(home, 'http://127.0.0.1:9', 'gs://jobs/mine', False, sys.argv[2] == 'shared')
assert mount.open(lambda text, severity: print(severity, text), is_container=False)
subprocess.run(['sh', '-c', 'mkdir -p /gcs/jobs/mine /gcs/data && echo o >/gcs/jobs/mine/o && echo d >/gcs/data/d; '
                'ls /gcs /gcs/jobs/mine'], check=True)
"""


def can_mount() -> bool:
    # A container may be root without the right to mount.
    return sys.platform == 'linux' and subprocess.run(['unshare', '--mount', 'true'], check=False).returncode == 0


@unittest.skipUnless(can_mount(), 'requires the right to mount')
class MountTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        (self.home / 'output').mkdir()

    def install(self, gcsfuse: str) -> str:
        """Returns a PATH with the script as gcsfuse."""
        command = self.home / 'bin' / 'gcsfuse'
        command.parent.mkdir()
        command.write_text(gcsfuse)
        command.chmod(0o755)
        return f'{command.parent}{os.pathsep}{os.environ["PATH"]}'

    def run_agent(self, kind: str = 'single') -> str:
        path = self.install(GCSFUSE)
        ran = subprocess.run(
            [sys.executable, '-B', '-c', AGENT_RUN, str(self.home), kind],
            env={**os.environ, 'PATH': path, 'PYTHONPATH': str(AGENT)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        # In the embedded cloud, it is killed with the VM, whose mark it has.
        os.kill(int((self.home / 'bin' / 'pid').read_text()), signal.SIGKILL)
        return ran.stdout

    def test_every_process_of_the_program_writes_to_buckets_and_the_rest_of_the_machine_does_not_see_them(self) -> None:
        printed = self.run_agent()
        self.assertIn('data', printed.split())
        self.assertFalse((BUCKETS / 'data').exists())
        arguments = (self.home / 'bin' / 'arguments').read_text()
        self.assertIn('--custom-endpoint=http://127.0.0.1:9/storage/v1/ --anonymous-access /gcs', arguments)
        self.assertIn('--metadata-cache-ttl-secs=0', arguments)

    def test_the_job_directory_of_a_single_replica_is_its_output(self) -> None:
        self.run_agent()
        self.assertEqual((self.home / 'output' / 'o').read_text(), 'o\n')

    def test_replicas_share_the_job_directory_of_the_bucket(self) -> None:
        self.assertIn('o', self.run_agent('shared').split())
        self.assertEqual(os.listdir(self.home / 'output'), [])

    def test_without_a_mount_the_log_says_why(self) -> None:
        logged: List[str] = []
        mount = BucketMount(self.home, 'https://storage.googleapis.com', 'gs://jobs/mine', True, False)
        self.addCleanup(os.environ.__setitem__, 'PATH', os.environ['PATH'])
        os.environ['PATH'] = self.install(BROKEN)
        self.assertFalse(mount.open(lambda text, _severity: logged.append(text), is_container=False))
        self.assertIn('no credentials', logged[0])

    def test_without_cloud_storage_fuse_nothing_is_mounted(self) -> None:
        mount = BucketMount(self.home, 'https://storage.googleapis.com', 'gs://jobs/mine', False, False)
        self.assertFalse(mount.open(lambda text, _severity: self.fail(text), is_container=True))


if __name__ == '__main__':
    unittest.main()
