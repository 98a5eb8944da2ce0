"""The files of this replica that are saved: each is known by the object that holds its version."""

import json
import time
from dataclasses import astuple, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Callable, Collection, Dict, FrozenSet, List, Mapping, Optional

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.logs.once_log import OnceLog
from vm_agent.program.json_file import replace_json
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest, decode_manifest, decode_object, encode_manifest, encode_object
from vm_agent.storage.directory.object_names import WORK_PREFIX, local_name
from vm_agent.storage.output.half_written import HalfWritten
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.output.output_changes import Saved, SavedFile
from vm_agent.storage.output.output_files import Stamp, parent_of, stamp_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.snapshot import HELD_ROUNDS_MAX, Interval, Snapshot, Snapshots
from vm_agent.storage.output.staging import StagedFile, Staging, tail_of
from vm_agent.storage.output.upload_batch import UploadBatch, upload_batch
from vm_agent.storage.transfer.body import FileChanged
from vm_agent.storage.transfer.client import ObjectInfo

MASTER = 'master-0'


@dataclass(frozen=True)
class View:
    """The files of one replica at the moment of its snapshot."""

    own: Mapping[str, Optional[ObjectInfo]]
    """By name, the object of each file that the replica has written in this attempt; None until it is uploaded."""
    gone: FrozenSet[str] = frozenset()
    """The restored files that the replica has deleted, by the name of the object."""
    unfinished: FrozenSet[str] = frozenset()
    """Files that are being written: files of other replicas may belong to them. Logs do not count."""


@dataclass(frozen=True)
class Uploaded:
    stored: Mapping[str, ObjectInfo]
    """By the name of the file."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Why files could not be uploaded; their last committed version stays."""
    rewritten: FrozenSet[str] = frozenset()
    """Files that the program changed meanwhile: what was uploaded may be of two versions."""
    outage: Optional[str] = None
    """Why the upload ended before all files were tried."""


@dataclass(frozen=True)
class UploadTime:
    """How long files may be uploaded."""

    policy: Callable[[], RetryPolicy]
    """Returns the policy for the next file."""
    is_cancelled: Callable[[], bool] = lambda: False
    stops_at_outage: bool = False


class LocalFiles:
    def __init__(
        self, directory: JobDirectory, tree: OutputTree, staging: Staging, log: Callable[[str, str], None]
    ) -> None:
        """`log(text, severity)` logs a line."""
        self.tree = tree
        self.replica = MASTER
        self.base = Manifest(None)
        """The manifest from which this attempt began."""
        self.warn_once = OnceLog(log).warn
        self.report_uncommitted: Callable[[str, str], None] = lambda message, remedy: None
        """Receives a message and its remedy, for a finding."""
        self._directory = directory
        self._staging = staging
        self._snapshots = Snapshots(tree, directory.prefix, staging, self.warn_once)
        self._saved = Saved()
        self._restored: Dict[str, ObjectInfo] = {}

    def warn_unsaved(self, message: str, remedy: str) -> None:
        """Says once that files are not saved, or not restored, and what to do."""
        self.warn_once(f'{message} {remedy}')
        self.report_uncommitted(message, remedy)

    def on_unsaved(self, report: Callable[[str], None]) -> None:
        """`report` is called with the name of each file that cannot be saved while the program runs."""
        self._snapshots.on_unsaved = report

    def record_restored(self, restored: Mapping[str, ObjectInfo], base: Manifest) -> None:
        """Records files that have just been downloaded, and therefore need no upload, and the manifest."""
        self.base = base
        self._restored = dict(restored)
        for name, info in restored.items():
            stamp = stamp_of(self.tree.path(name))
            self._saved.files[name] = SavedFile(stamp, info, tail_of(self.tree.path(name), stamp.size_bytes))
        self._saved.committed = dict(restored)

    def write_restored(self, file: Path) -> None:
        """Records on the disk, for a reboot, what was restored. Raises OSError."""
        stamps = {name: astuple(self._saved.files[name].stamp) for name in self._restored}
        files = {name: {'stamp': stamps[name], **encode_object(info)} for name, info in self._restored.items()}
        replace_json(file, {'files': files, 'base': encode_manifest(self.base).decode('utf-8')})

    def record_reboot(self, manifest: Manifest, file: Path) -> None:
        """
        Records, after a reboot, what the last manifest has: each file of this replica stays in it until what the disk
        holds of it is uploaded. Files that are still as they were restored are known by their record.
        """
        try:
            record: Any = json.loads(file.read_text('utf-8'))
            restored = {name: decode_object(one, self._directory.bucket) for name, one in record['files'].items()}
            stamps = {name: Stamp(*one['stamp']) for name, one in record['files'].items()}
            base = record['base'].encode('utf-8')
            self.base = decode_manifest(base, self._directory.bucket, self._directory.prefix)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Without the record, nothing counts as deleted.
            restored, stamps = {}, {}
            self.base = manifest
        committed = {}
        for name, info in manifest.files.items():
            local = local_name(name, self.replica)
            if local is None:
                continue
            is_restored = local in restored and restored[local].generation == info.generation
            if is_restored or manifest.writers.get(name, MASTER) == self.replica:
                committed[local] = restored[local] if is_restored else info
        self._restored = restored
        self._saved = Saved(committed=committed)
        for name, info in restored.items():
            stamp = _stamp_if_exists(self.tree.path(name))
            if stamp is not None and stamp == stamps.get(name):
                self._saved.files[name] = SavedFile(stamp, info, tail_of(self.tree.path(name), stamp.size_bytes))

    def clear_staging(self) -> None:
        """Removes what an earlier boot may have left, or what a program that has ended does not need."""
        self._staging.clear()

    def record_signal(self) -> None:
        """Records the files that are being written, just before a signal that may kill the program."""
        names = frozenset(
            name
            for name, only_appends in self.tree.open_files().items()
            if not only_appends and not is_log_name(name) and not self._is_kept_open(name)
        )
        self._snapshots.half_written = HalfWritten(names, time.time_ns())

    def _is_kept_open(self, name: str) -> bool:
        """Whether the program keeps a file open, and is not just writing it: every part of it may be of use."""
        known = {'', WORK_PREFIX.rstrip('/'), *map(parent_of, self._saved.committed)}
        is_new = name not in self._saved.files and parent_of(name) in known
        return is_new and self._snapshots.open_rounds.get(name, 0) > HELD_ROUNDS_MAX

    def take(self, interval: Interval, cancelled: Event) -> Optional[Snapshot]:
        """See Snapshots.take."""
        return self._snapshots.take(self._saved, interval, cancelled)

    def take_final(self, was_killed: bool) -> Snapshot:
        """
        Returns the files of a program that has ended, uncopied. If a signal killed it, files that it was writing stay
        in their last committed version.
        """
        if not was_killed:
            self._snapshots.half_written = HalfWritten()
        scan = self.tree.scan(self._directory.prefix)
        for problem in scan.skipped:
            self.warn_once(f'A file of the output cannot be uploaded: {problem}.')
        half_written = self._snapshots.half_written
        for name in half_written.find(scan.files):
            self.warn_once(f'{name} was being written when the program was killed: its last saved version is kept.')
        half_saved = {
            name
            for name in half_written.find_half_saved(scan.files)
            if not self._saved.has_version(name, scan.files[name])
        }
        emptied = find_emptied(self._saved.committed, scan.files) if was_killed else frozenset()
        changed = [name for name, stamp in scan.files.items() if not self._saved.has_version(name, stamp)]
        oldest_first = sorted(changed, key=lambda name: (scan.files[name].mtime_ns, name))
        staged = {name: self._in_place(name, scan.files[name]) for name in oldest_first if name not in half_saved}
        return Snapshot(scan.files, staged, emptied.union(half_saved))

    def _in_place(self, name: str, stamp: Stamp) -> StagedFile:
        """Returns a file that is uploaded from where it is, and verified afterwards."""
        return StagedFile(stamp, self.tree.path(name), tail=-1, is_link=True)

    def find_changed(self, snapshot: Snapshot) -> FrozenSet[str]:
        """Returns the files that differ from the snapshot by now."""
        return snapshot.find_changed(self.tree.scan(self._directory.prefix))

    def view(self, snapshot: Snapshot) -> View:
        committed = self._saved.committed
        stays = snapshot.held.union(self.tree.find_held(committed))
        own: Dict[str, Optional[ObjectInfo]] = {}
        for name, stamp in snapshot.files.items():
            info = self._saved.files[name].info if self._saved.has_version(name, stamp) else None
            if name not in stays and (info is None or info != self._restored.get(name)):
                own[name] = info
        for name in stays & committed.keys():
            if committed[name] != self._restored.get(name):
                own[name] = committed[name]
        present = stays.union(snapshot.files, snapshot.scanned)
        gone = (self._directory.name_of(info) for name, info in self._restored.items() if name not in present)
        unfinished = (snapshot.scanned - snapshot.files.keys() - snapshot.restless) | snapshot.unsettled | snapshot.held
        return View(own, frozenset(gone), frozenset(name for name in unfinished if not is_log_name(name)))

    def upload(self, snapshot: Snapshot, targets: Mapping[str, str], time_: UploadTime) -> Uploaded:
        """Uploads files of the snapshot: by name, `targets` has the name of the object. Raises Fenced."""
        files = {name: snapshot.staged.get(name) or self._in_place(name, snapshot.files[name]) for name in targets}
        batch = UploadBatch(self._directory, time_.policy, time_.is_cancelled, time_.stops_at_outage)
        results = upload_batch(batch, {targets[name]: file.path for name, file in files.items()})
        stored: Dict[str, ObjectInfo] = {}
        failed: Dict[str, str] = {}
        rewritten: List[str] = []
        outages: List[str] = []
        for name, target in targets.items():
            info, error = results.stored.get(target), results.failed.get(target)
            if isinstance(error, FileChanged) or (info is not None and not _is_intact(files[name])):
                rewritten.append(name)
                self._snapshots.record_rewritten(name)
            elif info is not None:
                stored[name] = info
                self._record_stored(name, files[name], info)
            elif time_.stops_at_outage and (error is None or isinstance(error, TransientError)):
                outages.append(f'{name}: {error or "it was not tried"}')
            else:
                failed[name] = str(error)
        return Uploaded(stored, failed, frozenset(rewritten), outages[0] if outages else None)

    def _record_stored(self, name: str, file: StagedFile, info: ObjectInfo) -> None:
        tail = tail_of(file.path, file.stamp.size_bytes) if file.tail < 0 else file.tail
        self._saved.files[name] = SavedFile(file.stamp, info, tail)
        self._staging.discard(name)

    def record_committed(self, own: Mapping[str, ObjectInfo], snapshot: Snapshot) -> None:
        """Records which files of this replica the manifest names now, besides those that are as restored."""
        present = {*snapshot.files, *snapshot.held, *self.tree.find_held(self._saved.committed)}
        restored = {name: info for name, info in self._restored.items() if name in present and name not in own}
        self._saved.committed = {**restored, **own}
        # A file that is held back is not uploaded again while it is as it was.
        self._saved.files = {
            name: file
            for name, file in self._saved.files.items()
            if name in self._saved.committed or snapshot.files.get(name) == file.stamp
        }


def find_emptied(committed: Collection[str], files: Collection[str]) -> FrozenSet[str]:
    """
    Returns the committed files of folders that have no file left: a program that replaces a checkpoint folder deletes
    it first, and was killed before it had written the new one.
    """
    folders = {parent_of(name) for name in files}
    return frozenset(name for name in committed if parent_of(name) and parent_of(name) not in folders)


def _is_intact(file: StagedFile) -> bool:
    try:
        return file.is_intact()
    except OSError:
        return False


def _stamp_if_exists(path: Path) -> Optional[Stamp]:
    try:
        return stamp_of(path)
    except OSError:
        return None
