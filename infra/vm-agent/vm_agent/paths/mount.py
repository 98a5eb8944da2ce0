"""
Cloud Storage FUSE: the buckets that the VM's account may read are folders below /gcs, for every process. Where the
machine does not have it, `hook` serves these paths to Python.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

COMMAND = 'gcsfuse'
BUCKETS = Path('/gcs')
GOOGLE_URL = 'https://storage.googleapis.com'
MOUNT_SECONDS_MAX = 30.0
POLL_SECONDS = 0.05
LOG_CHARS_MAX = 1_000
# sched.h: the calling thread, and the processes that it starts, get their own view of what is mounted.
CLONE_NEWNS = 0x20000
# cloud.google.com/storage/docs/cloud-storage-fuse/cli-options has them all.
OPTIONS = (
    '--foreground',
    '--implicit-dirs',
    # Files of other replicas are seen at once. On machines with several GPUs, the default is never.
    '--metadata-cache-ttl-secs=0',
    '--metadata-cache-negative-ttl-secs=0',
    # Checkpoints are renamed when they are complete; without a hierarchical namespace, object by object.
    '--rename-dir-limit=200000',
    # Containers may run as any user.
    *('--file-mode=666', '--dir-mode=777', '-o', 'allow_other'),
)


@dataclass(frozen=True)
class BucketMount:
    home: Path
    storage_url: str
    job_dir: str
    is_own_machine: bool
    """Whether the whole machine is the VM: what is mounted there is then seen by the container engine, too."""
    is_shared: bool
    """Whether several replicas use the job directory, which is then the bucket's; else it is the output directory."""

    def open(self, log: Callable[[str, str], None], *, is_container: bool) -> bool:
        """
        Mounts the buckets, and returns whether they are. Call it from the thread that starts the program, which alone
        sees the mount unless the machine is the VM's own.
        """
        if not self._is_possible(is_container):
            return False
        try:
            if not self.is_own_machine:
                _leave_mounts()
            BUCKETS.mkdir(exist_ok=True)
            if not os.path.ismount(BUCKETS):
                self._start()
            if not (self.is_shared or is_container):
                self._bind_output()
            return True
        except (OSError, subprocess.SubprocessError) as error:
            log(f'Cloud Storage FUSE does not serve {BUCKETS}, which only Python reads therefore: {error}', 'WARNING')
            return False

    def _is_possible(self, is_container: bool) -> bool:
        is_visible = self.is_own_machine or not is_container
        return sys.platform == 'linux' and os.geteuid() == 0 and is_visible and shutil.which(COMMAND) is not None

    def _start(self) -> None:
        """Raises OSError with the end of the log if gcsfuse ends, or has not mounted in time."""
        log, staging = self.home / 'gcsfuse.log', self.home / 'gcsfuse'
        staging.mkdir(exist_ok=True)
        command = [COMMAND, *OPTIONS, f'--temp-dir={staging}', *self._endpoint(), str(BUCKETS)]
        with log.open('wb') as output:
            # It outlives the program's processes, in the session of the agent and without the mark of the program. A
            # signal to the agent's group would unmount the buckets before the program has saved.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=lambda: os.setpgid(0, 0)
            )
        give_up_at = time.monotonic() + MOUNT_SECONDS_MAX
        while not os.path.ismount(BUCKETS):
            if process.poll() is not None or time.monotonic() > give_up_at:
                process.kill()
                process.wait()
                raise OSError(log.read_text('utf-8', 'replace')[-LOG_CHARS_MAX:].strip() or 'it mounts nothing')
            time.sleep(POLL_SECONDS)

    def _endpoint(self) -> Sequence[str]:
        """The embedded cloud asks for no credentials."""
        is_google = self.storage_url == GOOGLE_URL
        return () if is_google else (f'--custom-endpoint={self.storage_url}/storage/v1/', '--anonymous-access')

    def _bind_output(self) -> None:
        """A single replica's files in the job directory are saved in snapshots, and restored where they were."""
        folder = BUCKETS / self.job_dir[len('gs://') :]
        folder.mkdir(parents=True, exist_ok=True)
        if not os.path.ismount(folder):
            subprocess.run(['mount', '--bind', str(self.home / 'output'), str(folder)], check=True)


def serves_containers(is_own_machine: bool) -> bool:
    return is_own_machine and os.path.ismount(BUCKETS)


def _leave_mounts() -> None:
    """Ends with the processes of this thread; nothing is left of it on the machine. Raises OSError."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    subprocess.run(['mount', '--make-rslave', '/'], check=True)
