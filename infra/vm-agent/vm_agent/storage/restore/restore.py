"""Restores the files that the last manifest of the job directory names: all of them, or the attempt ends."""

import os
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Dict, List

from vm_agent.http.request import is_disk_full
from vm_agent.http.retry import ChildEvent, RetryPolicy, TransientError
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.storage.cluster.framework_index import read_incomplete
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import PARTS_PREFIX, is_restorable, local_name
from vm_agent.storage.output.local_files import MASTER
from vm_agent.storage.output.output_files import parents_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.transfer.client import ObjectInfo, StorageRejected
from vm_agent.storage.transfer.download import ContentMismatch

# The last upload of an earlier attempt may replace an object during its download, as may this attempt's master while
# another replica restores. More replacements come from another writer.
REPLACED_TIMES_MAX = 5
# Coarse enough for every file system, and for programs that read times as floating-point numbers.
MODIFIED_STEP_NS = 1_000_000


def select_objects(live: Dict[str, ObjectInfo], manifest: Manifest, replica: str) -> Dict[str, ObjectInfo]:
    """
    Returns the objects to restore, by the name of the file: exactly the generations that the manifest names, which
    belong together, of all replicas. A replica has its own version of a name that several have written. Uploads that
    no manifest has committed may be part of a set whose other files are missing, objects that it does not name were
    deleted by the program, as old checkpoints are, and objects of other writers may exceed the disk.
    """
    selected = {}
    for name, info in manifest.files.items():
        current = live.get(name)
        is_same = current is not None and current.generation == info.generation
        # The live object's resource has more checksums than the manifest, which does not say who wrote a file: usually
        # the writer of the version that has replaced it.
        found = current if current is not None and is_same else info
        author = None if current is None else current.author
        selected[name] = replace(found, modified_ns=info.modified_ns, author=author)
    own = {local_name(name, replica): info for name, info in selected.items() if not is_restorable(name)}
    own_folders = {folder for name in own if name is not None for folder in parents_of(name)}
    shared = {
        name: info
        for name, info in selected.items()
        # Another replica may have a file where this one has a folder.
        if is_restorable(name) and name not in own_folders and own.keys().isdisjoint(parents_of(name))
    }
    return {name: info for name, info in {**shared, **own}.items() if name is not None}


@dataclass(frozen=True)
class Restore:
    directory: JobDirectory
    tree: OutputTree
    bytes_max: int
    """The bytes that may be written to the disk."""
    policy: RetryPolicy
    log: Callable[[str, str], None]
    replica: str = MASTER
    is_cluster: bool = False
    """Whether the files may be those of one replica of several, as earlier versions have saved them."""

    def run(self, claimed: Manifest) -> Dict[str, ObjectInfo]:
        """
        Downloads into the output directory and the working directory; returns the restored objects by name. All or
        nothing: a program without its checkpoint would start from scratch, and files that the next manifest does not
        name count as deleted in every later attempt. Raises ReplicaEnded with DISK_TOO_SMALL or CHECKPOINT_UNREADABLE,
        StorageRejected if the directory cannot be listed, and TransientError.
        """
        found = dict(self.directory.list(self.policy))
        self.directory.delete_abandoned([info for name, info in found.items() if name.startswith(PARTS_PREFIX)])
        live = {name: info for name, info in found.items() if local_name(name, self.replica) is not None}
        for name, info in live.items():
            self.directory.record_live(name, info)
        complete = self._without_incomplete(claimed) if self.is_cluster else claimed
        committed = select_objects(live, complete, self.replica)
        selected = {name: info for name, info in committed.items() if self._has_place(name, info)}
        total_bytes = sum(info.size_bytes for info in selected.values())
        self._check_space(selected, total_bytes)
        self._clear_places(selected)
        restored = self._download_all(selected)
        self._set_modification_times(restored)
        if restored:
            self.log(f'Restored {len(restored)} files ({total_bytes} bytes) from the job directory.', 'INFO')
        return restored

    def _without_incomplete(self, claimed: Manifest) -> Manifest:
        """
        Returns the manifest without checkpoints of which a framework's index names files that were never saved: a
        program that finds one cannot read it, and does not look for an earlier one.
        """
        incomplete = read_incomplete(self.directory, claimed.files, self.policy)
        for index, found in incomplete.items():
            self.log(
                f'{index} is not restored: it names files that were not saved ({", ".join(found.missing[:3])}). '
                'It stays in the job directory.',
                'WARNING',
            )
        left_out = frozenset().union(*(found.named for found in incomplete.values()))
        return replace(claimed, files={name: info for name, info in claimed.files.items() if name not in left_out})

    def _has_place(self, name: str, info: ObjectInfo) -> bool:
        """
        The version that another job's program made of a file of its package does not replace that of this job's
        package.
        """
        is_own = info.author is None or info.author.job_id == self.directory.author.job_id
        return self.tree.has_place(name) and (is_own or not self.tree.is_of_package(name))

    def _clear_places(self, selected: Dict[str, ObjectInfo]) -> None:
        """The program may have put a folder in the place of a file of its package, or a file in that of a folder."""
        for name in selected:
            path, root = self.tree.path(name), self.tree.root(name)
            for parent in reversed([*path.parents][: len(path.relative_to(root).parts) - 1]):
                if parent.is_symlink() or parent.is_file():
                    parent.unlink()
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)

    def _check_space(self, selected: Dict[str, ObjectInfo], total_bytes: int) -> None:
        replaced_bytes = sum(_size_of(self.tree.path(name)) for name in selected)
        available_bytes = self.bytes_max + replaced_bytes
        if total_bytes > available_bytes:
            message = (
                f'The {len(selected)} files that earlier attempts saved have {total_bytes} bytes, '
                f'but the disk of this VM has space for only {max(0, available_bytes)}.'
            )
            raise ReplicaEnded(ExitReport('DISK_TOO_SMALL', message))

    def _download_all(self, selected: Dict[str, ObjectInfo]) -> Dict[str, ObjectInfo]:
        """Downloads in parallel. Raises the first error, and cancels the others."""
        cancelled = ChildEvent(self.policy.cancelled)
        policy = replace(self.policy, cancelled=cancelled)
        failures: List[BaseException] = []

        def download(name: str) -> ObjectInfo:
            if cancelled.is_set():
                raise TransientError('The restore was canceled: the VM is stopping.')
            try:
                return self._download(name, selected[name], policy)
            except BaseException as error:
                failures.append(error)
                cancelled.set()
                raise

        try:
            return dict(zip(selected, self.directory.storage.transfers.map(download, selected)))
        except TransientError as error:
            # Another download may have ended with the cancellation before its reason has arrived here.
            raise failures[0] if failures else error

    def _set_modification_times(self, restored: Dict[str, ObjectInfo]) -> None:
        """
        Keeps the order in which the program wrote the files: it may find its newest checkpoint by its time, and
        parallel transfers finish in any order.
        """
        restored_at_ns = time.time_ns()
        newest_first = sorted(restored, key=lambda name: _written_at_ns(restored[name]), reverse=True)
        for position, name in enumerate(newest_first):
            modified_at_ns = restored_at_ns - position * MODIFIED_STEP_NS
            os.utime(self.tree.path(name), ns=(modified_at_ns, modified_at_ns))

    def _download(self, name: str, selected: ObjectInfo, policy: RetryPolicy) -> ObjectInfo:
        """Downloads the selected generation, or the live one if that is gone (a bucket without versioning)."""
        info = selected
        for _ in range(REPLACED_TIMES_MAX):
            try:
                self.directory.download(info, self.tree.path(name), policy)
                return info
            except StorageRejected as rejection:
                is_gone = rejection.status == 404
                current = self.directory.stat(self.directory.name_of(info), policy) if is_gone else None
                if current is None or current.generation == info.generation:
                    raise ReplicaEnded(describe_restore_error(name, rejection)) from rejection
                self.log(
                    f'The version of {name} that was saved with the other files no longer exists, because the bucket '
                    'has no versioning or deleted it: its newest version is restored, which may not fit them.',
                    'WARNING',
                )
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


def _written_at_ns(info: ObjectInfo) -> float:
    """Returns when the file was written, or else uploaded."""
    return 1e9 * info.created_at if info.modified_ns is None else info.modified_ns


def _size_of(path: Path) -> int:
    """Returns the bytes of the file; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
