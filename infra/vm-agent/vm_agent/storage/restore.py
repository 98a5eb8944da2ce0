"""Restores the files that earlier attempts uploaded to the job directory: all of them, or the attempt ends."""

import os
import threading
import time
from collections import deque
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Callable, Dict

from vm_agent.http.request import is_disk_full
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.storage.client import ContentMismatch, ObjectInfo, StorageRejected
from vm_agent.storage.job_directory import JobDirectory
from vm_agent.storage.manifest import Manifest
from vm_agent.storage.output_files import is_restorable

# The last upload of an earlier attempt may replace an object during its download, as may this attempt's master while
# another replica restores. More replacements come from another writer.
REPLACED_TIMES_MAX = 5
# One stream does not saturate a VM's network, and many small files would each wait for a round trip.
CONNECTIONS_MAX = 8
CANCELLED_POLL_SECONDS = 0.2
# Coarse enough for every file system, and for programs that read times as floating-point numbers.
MODIFIED_STEP_NS = 1_000_000


def select_objects(live: Dict[str, ObjectInfo], manifest: Manifest, job_id: str) -> Dict[str, ObjectInfo]:
    """
    Returns the objects to restore: the generations that the manifest names, and what agents of this job have uploaded
    since it was written; all that they have uploaded if no manifest was ever written (complete to generation 0). Older
    objects that it does not name were deleted by the program, as old checkpoints are. Objects of other writers are not
    restored: a program that uses Cloud Storage itself reads them there, and they may exceed the disk.
    """
    selected = {}
    for name, info in manifest.files.items():
        current = live.get(name)
        is_same = current is not None and current.generation == info.generation
        # The live object's resource has more checksums than the manifest.
        selected[name] = current if current is not None and is_same else info
    for name, info in live.items():
        # Cloud Storage's generations grow with time.
        is_uncommitted = name not in selected and int(info.generation) > int(manifest.complete_to or 0)
        if is_uncommitted and info.author is not None and info.author.job_id == job_id:
            selected[name] = info
    return _without_clashes({name: info for name, info in selected.items() if is_restorable(name)})


def _without_clashes(selected: Dict[str, ObjectInfo]) -> Dict[str, ObjectInfo]:
    """A bucket may hold both `model` and `model/weights`, a disk only one of them: the newer one is kept."""
    kept = dict(selected)
    for name, info in selected.items():
        for folder in map(str, PurePosixPath(name).parents):
            if folder in selected:
                kept.pop(name if int(selected[folder].generation) > int(info.generation) else folder, None)
    return kept


@dataclass(frozen=True)
class Restore:
    directory: JobDirectory
    folder: Path
    bytes_max: int
    """The bytes that may be written to the disk."""
    policy: RetryPolicy
    log: Callable[[str, str], None]

    def run(self, claimed: Manifest) -> Dict[str, ObjectInfo]:
        """
        Downloads into the local output directory; returns the restored objects by name. All or nothing: a program
        without its checkpoint would start from scratch, and files that the next manifest does not name count as deleted
        in every later attempt. Raises ReplicaEnded with DISK_TOO_SMALL or CHECKPOINT_UNREADABLE, StorageRejected if the
        directory cannot be listed, and TransientError.
        """
        live = {name: info for name, info in self.directory.list(self.policy) if is_restorable(name)}
        for name, info in live.items():
            self.directory.record_generation(name, info.generation)
        selected = select_objects(live, claimed, self.directory.author.job_id)
        total_bytes = sum(info.size_bytes for info in selected.values())
        self._check_space(selected, total_bytes)
        restored = self._download_all(selected)
        self._set_modification_times(restored)
        if restored:
            self.log(f'Restored {len(restored)} files ({total_bytes} bytes) from the job directory.', 'INFO')
        return restored

    def _check_space(self, selected: Dict[str, ObjectInfo], total_bytes: int) -> None:
        replaced_bytes = sum(_size_of(self.folder / name) for name in selected)
        available_bytes = self.bytes_max + replaced_bytes
        if total_bytes > available_bytes:
            message = (
                f'The {len(selected)} files that earlier attempts saved have {total_bytes} bytes, '
                f'but the disk of this VM has space for only {max(0, available_bytes)}.'
            )
            raise ReplicaEnded(ExitReport('DISK_TOO_SMALL', message))

    def _download_all(self, selected: Dict[str, ObjectInfo]) -> Dict[str, ObjectInfo]:
        """Downloads several files in parallel. Raises the first error, and cancels the others."""
        left = deque(selected.items())
        restored: Dict[str, ObjectInfo] = {}
        cancelled = threading.Event()
        policy = replace(self.policy, cancelled=cancelled)

        def download_from_queue() -> None:
            while not cancelled.is_set():
                try:
                    name, info = left.popleft()
                except IndexError:
                    return
                restored[name] = self._download(name, info, policy)

        with ThreadPoolExecutor(CONNECTIONS_MAX, 'restore') as pool:
            running = {pool.submit(download_from_queue) for _ in range(min(CONNECTIONS_MAX, len(selected)))}
            try:
                while running:
                    done, running = wait(running, CANCELLED_POLL_SECONDS, FIRST_EXCEPTION)
                    for ended in done:
                        ended.result()
                    if self.policy.cancelled.is_set():
                        cancelled.set()
            finally:
                cancelled.set()
        if len(restored) < len(selected):
            raise TransientError('The restore was canceled: the VM is stopping.')
        return restored

    def _set_modification_times(self, restored: Dict[str, ObjectInfo]) -> None:
        """
        Orders the files' modification times by generation: programs find their newest checkpoint by its time, and
        parallel downloads finish in any order.
        """
        restored_at_ns = time.time_ns()
        newest_first = sorted(restored, key=lambda name: int(restored[name].generation), reverse=True)
        for position, name in enumerate(newest_first):
            modified_at_ns = restored_at_ns - position * MODIFIED_STEP_NS
            os.utime(self.folder / name, ns=(modified_at_ns, modified_at_ns))

    def _download(self, name: str, selected: ObjectInfo, policy: RetryPolicy) -> ObjectInfo:
        """Downloads the selected generation, or the live one if that is gone (a bucket without versioning)."""
        info = selected
        for _ in range(REPLACED_TIMES_MAX):
            try:
                self.directory.download(info, self.folder / name, policy)
                return info
            except StorageRejected as rejection:
                current = self.directory.stat(name, policy) if rejection.status == 404 else None
                if current is None or current.generation == info.generation:
                    raise ReplicaEnded(describe_restore_error(name, rejection)) from rejection
                info = current
            except (ContentMismatch, OSError) as error:
                raise ReplicaEnded(describe_restore_error(name, error)) from error
        raise TransientError(f'{name} could not be downloaded: another writer keeps replacing it.')


def describe_restore_error(name: str, error: Exception) -> ExitReport:
    """Returns the exit report for a file that could not be restored."""
    if is_disk_full(error):
        message = f'The disk of this VM ran full while {name}, which an earlier attempt saved, was being restored.'
        return ExitReport('DISK_TOO_SMALL', message, evidence=(str(error),))
    message = f'{name}, which an earlier attempt saved, could not be restored.'
    return ExitReport('CHECKPOINT_UNREADABLE', message, evidence=(str(error),))


def _size_of(path: Path) -> int:
    """Returns the bytes of the file; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
