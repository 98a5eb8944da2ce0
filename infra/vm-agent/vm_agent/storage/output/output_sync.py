"""Saves the program's files in the job directory: whole snapshots, each committed by its manifest."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Collection, Dict, FrozenSet, Iterator, Mapping, Optional, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError, backoff_delays
from vm_agent.logs.once_log import OnceLog
from vm_agent.storage.directory.job_directory import Fenced, JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.output.half_written import HalfWritten
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.output.output_changes import Saved, SavedFile
from vm_agent.storage.output.output_files import Stamp, parent_of, stamp_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.snapshot import Snapshot, Snapshots
from vm_agent.storage.output.staging import Staging, tail_of
from vm_agent.storage.output.upload_batch import UploadBatch, UploadResults, upload_batch
from vm_agent.storage.transfer.body import FileChanged
from vm_agent.storage.transfer.client import SUCCESS_KEY, ObjectInfo, StorageRejected

ROUND_TRIES_MAX = 5
# The share of the remaining time that one file may take in the final rounds: a file that cannot be uploaded must not
# keep the others from being uploaded.
FINAL_STEP_FRACTION = 0.25
MARK_SECONDS_MAX = 5.0


@dataclass(frozen=True)
class _FinalRound:
    """The program has ended: no file changes any more."""

    policy: RetryPolicy
    give_up_at: float
    """By time.monotonic()."""
    marks: Tuple[str, ...]
    """For the manifest, when everything is uploaded."""
    was_killed: bool

    def step_policy(self) -> RetryPolicy:
        """Returns the policy for the next file."""
        return replace(self.policy, seconds_max=FINAL_STEP_FRACTION * (self.give_up_at - time.monotonic()))


class OutputSync:
    def __init__(
        self, directory: JobDirectory, tree: OutputTree, staging: Staging, log: Callable[[str, str], None]
    ) -> None:
        """`log(text, severity)` logs a line."""
        self._warn_once = OnceLog(log).warn
        self._directory = directory
        self.tree = tree
        self._staging = staging
        self._snapshots = Snapshots(tree, directory.prefix, staging, self._warn_once)
        self._saved = Saved()
        self._held: Dict[str, ObjectInfo] = {}
        self.count_reports: Callable[[], Mapping[str, int]] = dict
        """Returns how often the program has reported each metric until now; see Manifest."""
        self.reports: Mapping[str, int] = {}
        """The same for the committed files."""
        self._counted: Mapping[str, int] = {}
        self.knows_manifest = False
        """Whether a commit leaves in the manifest what stays in its last version."""
        self._round = threading.Lock()
        self._is_finishing = threading.Event()
        self._is_due = threading.Event()

    def record_restored(self, restored: Mapping[str, ObjectInfo], held: Mapping[str, ObjectInfo]) -> None:
        """
        Records files that have just been downloaded, and therefore need no upload, and those that stay in the manifest
        although this attempt does not have them.
        """
        self.knows_manifest = True
        self._held.update(held)
        for name, info in restored.items():
            path = self.tree.path(name)
            stamp = stamp_of(path)
            self._saved.files[name] = SavedFile(stamp, info, tail_of(path, stamp.size_bytes))
        self._saved.committed = dict(restored)

    def record_committed(self, manifest: Manifest) -> None:
        """
        Records, after a reboot, what the last manifest has: each file stays in it until what the disk holds of it is
        uploaded.
        """
        self.knows_manifest = True
        self._saved.committed = dict(manifest.files)
        self.reports = manifest.reports

    def report_unsaved(self, report: Callable[[str], None]) -> None:
        """`report` is called with the name of each file that cannot be saved while the program runs."""
        self._snapshots.on_unsaved = report

    def start(self, interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        """Syncs at every interval until `finish`, or until a later attempt has claimed the directory."""
        self._staging.clear()
        threading.Thread(target=self._run, args=(interval_seconds, on_fenced), name='output-sync', daemon=True).start()

    @contextmanager
    def ended(self) -> Iterator[None]:
        """No round runs within the block, nor later: the program has ended, and `finish` follows."""
        self._is_finishing.set()
        self._is_due.set()
        with self._round:
            yield

    def request_sync(self) -> None:
        """Starts the next round at once."""
        self._is_due.set()

    def record_signal(self) -> None:
        """Records the files that are being written, just before a signal that may kill the program."""
        names = frozenset(
            name
            for name, only_appends in self.tree.open_files().items()
            if not only_appends and not is_log_name(name) and not self._is_kept_open(name)
        )
        self._snapshots.half_written = HalfWritten(names, time.time_ns())

    def _is_kept_open(self, name: str) -> bool:
        """Whether the program has had a file open since an earlier round: every part of it may be of use."""
        return name not in self._saved.files and name in self._snapshots.open_before

    def finish(
        self, policy: RetryPolicy, was_killed: bool = False, marks: Tuple[str, ...] = ()
    ) -> Tuple[str, ...]:
        """
        Uploads everything in final rounds, until all is uploaded or `policy.seconds_max` has passed: the VM's disk is
        deleted afterwards. If a signal killed the program, files that it was writing stay in their last committed
        version. The last commit has the marks (see Upload) if everything is uploaded. Returns why files could not be
        uploaded. Raises Fenced.
        """
        if not was_killed:
            self._snapshots.half_written = HalfWritten()
        with self.ended():
            self._staging.clear()
            give_up_at = time.monotonic() + policy.seconds_max
            for delay_seconds in backoff_delays():
                problems = self._sync_final(_FinalRound(policy, give_up_at, marks, was_killed))
                is_out_of_time = time.monotonic() + delay_seconds > give_up_at
                if not problems or is_out_of_time or policy.cancelled.wait(delay_seconds):
                    return problems
                self._warn_once(f'The output could not be uploaded yet: {problems[0]}')
        raise AssertionError('backoff_delays never ends')

    def _run(self, interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        policy = RetryPolicy(ROUND_TRIES_MAX, 4 * interval_seconds, self._is_finishing)
        next_at = time.monotonic() + interval_seconds
        while True:
            self._is_due.wait(max(0.0, next_at - time.monotonic()))
            if self._is_finishing.is_set():
                return
            self._is_due.clear()
            next_at = time.monotonic() + interval_seconds
            with self._round:
                try:
                    self._sync(interval_seconds, policy)
                except (TransientError, StorageRejected) as error:
                    self._warn_once(f'The output could not be uploaded yet: {error}')
                except Fenced as fenced:
                    on_fenced(fenced)
                    return

    def _sync(self, interval_seconds: float, policy: RetryPolicy) -> None:
        """Saves one snapshot. A file that the program rewrote during its upload is copied in a second try."""
        for _ in range(2):
            snapshot = self._snapshots.take(self._saved, interval_seconds, self._is_finishing)
            # Not before: until the program has a pause, it may report and save more.
            self._counted = self.count_reports()
            if snapshot is None or self._save(snapshot, policy):
                return

    def _save(self, snapshot: Snapshot, policy: RetryPolicy) -> bool:
        """Uploads and commits a snapshot. Returns False if files of it were rewritten meanwhile."""
        if snapshot.staged:
            self._directory.check_claim(policy)
        paths = {name: file.path for name, file in snapshot.staged.items()}
        batch = UploadBatch(self._directory, lambda: policy, self._is_finishing.is_set, stops_at_outage=True)
        results = upload_batch(batch, paths)
        rewritten = [name for name in results.stored if not snapshot.staged[name].is_intact()]
        for name, info in results.stored.items():
            if name not in rewritten:
                staged = snapshot.staged[name]
                self._saved.files[name] = SavedFile(staged.stamp, info, staged.tail)
                self._staging.discard(name)
        rewritten += [name for name, error in results.failed.items() if isinstance(error, FileChanged)]
        for name in rewritten:
            self._snapshots.record_rewritten(name)
        self._raise_outage(results)
        if rewritten or len(results.stored) + len(results.failed) < len(paths):
            return not rewritten
        for name, error in results.failed.items():
            self._warn_once(f'The output could not be uploaded yet: {name}: {error}')
        self._commit(snapshot.files, snapshot.held.union(results.failed), policy)
        return True

    def _raise_outage(self, results: UploadResults) -> None:
        """Raises the first transient error: the snapshot is uploaded, and committed, when the outage is over."""
        for name, error in results.failed.items():
            if isinstance(error, TransientError):
                raise TransientError(f'{name}: {error}') from error

    def _sync_final(self, round_: _FinalRound) -> Tuple[str, ...]:
        self._counted = self.count_reports()
        scan = self.tree.scan(self._directory.prefix)
        for problem in scan.skipped:
            self._warn_once(f'A file of the output cannot be uploaded: {problem}.')
        half_written = self._snapshots.half_written
        half_saved = half_written.find_half_saved(scan.files)
        for name in half_written.find(scan.files):
            self._warn_once(f'{name} was being written when the program was killed: its last saved version is kept.')
        changed = [
            name
            for name, stamp in scan.files.items()
            if name not in half_saved and not self._saved.has_version(name, stamp)
        ]
        half_saved = frozenset(name for name in half_saved if not self._saved.has_version(name, scan.files[name]))
        oldest_first = sorted(changed, key=lambda name: (scan.files[name].mtime_ns, name))
        try:
            if changed:
                self._directory.check_claim(round_.step_policy())
            problems = self._upload_final({name: scan.files[name] for name in oldest_first}, round_)
            marks = () if problems else round_.marks
            emptied = find_emptied(self._saved.committed, scan.files) if round_.was_killed else frozenset()
            held = half_saved.union(problems, emptied)
            self._commit(scan.files, held, round_.step_policy(), marks)
        except (TransientError, StorageRejected) as error:
            return (str(error),)
        return tuple(f'{name}: {problem}' for name, problem in problems.items())

    def _upload_final(self, changed: Mapping[str, Stamp], round_: _FinalRound) -> Dict[str, str]:
        """Uploads files from where they are. Returns why files could not be uploaded, by name."""
        batch = UploadBatch(self._directory, round_.step_policy, lambda: False, stops_at_outage=False)
        results = upload_batch(batch, {name: self.tree.path(name) for name in changed})
        problems = {name: str(error) for name, error in results.failed.items()}
        for name, info in results.stored.items():
            path = self.tree.path(name)
            stamp = _stamp_if_exists(path)
            if stamp is not None and stamp == changed[name]:
                self._saved.files[name] = SavedFile(stamp, info, tail_of(path, stamp.size_bytes))
            else:
                # The object may mix old and new bytes: the manifest keeps naming the previous generation.
                problems[name] = 'a process is still writing to it'
        return problems

    def _commit(
        self, files: Mapping[str, Stamp], held: FrozenSet[str], policy: RetryPolicy, marks: Tuple[str, ...] = ()
    ) -> None:
        """Writes the manifest, unless it is the same: held files stay in their last committed version."""
        named = {name: self._saved.files[name].info for name in files if name not in held}
        kept = {name: self._saved.committed[name] for name in held if name in self._saved.committed}
        self._held.update(self.tree.find_held(self._saved.committed))
        committed = {**named, **kept}
        changed = [name for name, info in committed.items() if self._saved.committed.get(name) != info]
        if not all(map(is_log_name, changed)):
            self.reports = self._counted
        manifest = Manifest(None, {**self._held, **committed}, self.reports)
        if committed != self._saved.committed or SUCCESS_KEY in marks:
            self._directory.write_manifest(manifest, policy, marks)
        elif marks:
            self._mark_end(manifest, policy, marks)
        self._saved.committed = committed
        self._saved.files = {name: file for name, file in self._saved.files.items() if name in committed}

    def _mark_end(self, manifest: Manifest, policy: RetryPolicy, marks: Tuple[str, ...]) -> None:
        """Everything is saved already: the next attempt only waits longer if the mark cannot be written."""
        try:
            brief = replace(policy, seconds_max=min(policy.seconds_max, MARK_SECONDS_MAX))
            self._directory.write_manifest(manifest, brief, marks)
        except (TransientError, StorageRejected) as error:
            self._warn_once(f'The end of this attempt could not be recorded: {error}')


def find_emptied(committed: Collection[str], files: Collection[str]) -> FrozenSet[str]:
    """
    Returns the committed files of folders that have no file left: a program that replaces a checkpoint folder deletes
    it first, and was killed before it had written the new one.
    """
    folders = {parent_of(name) for name in files}
    return frozenset(name for name in committed if parent_of(name) and parent_of(name) not in folders)


def _stamp_if_exists(path: Path) -> Optional[Stamp]:
    try:
        return stamp_of(path)
    except OSError:
        return None
