"""Consistent snapshots of the output directory while the program writes to it (docs/adr/0025)."""

import threading
import time
from dataclasses import dataclass
from typing import Callable, Dict, FrozenSet, Iterable, Mapping, Optional, Set, Tuple

from vm_agent.storage.output.capture import Capture, Situation
from vm_agent.storage.output.half_written import HalfWritten
from vm_agent.storage.output.new_folders import NewFolders
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.output.output_changes import Changes, Saved, find_changes
from vm_agent.storage.output.output_files import Scan, Stamp
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.quiet_wait import QuietWait
from vm_agent.storage.output.restless_files import RestlessFiles
from vm_agent.storage.output.staging import StagedFile, Staging

# A round tries to find a consistent state at least this often.
TRIES_MIN = 5
# The rounds that may fail before files are saved which may be from different moments, and before a writer waits.
HELD_ROUNDS_MAX = 4
# The rounds after which a file that cannot be saved is reported.
UNSAVED_ROUNDS_MAX = 5


@dataclass(frozen=True)
class Snapshot:
    """The state of the output directory at one moment."""

    files: Mapping[str, Stamp]
    """The version of each file, except for those that are still being written for the first time."""
    staged: Mapping[str, StagedFile]
    """Copies of the versions that the bucket does not have."""
    held: FrozenSet[str]
    """Files of which no complete version could be copied: the last committed one stays."""
    scanned: FrozenSet[str] = frozenset()
    """All files that were found, those included that are still being written for the first time."""
    restless: FrozenSet[str] = frozenset()
    """Files that change all the time, such as logs: their copies are of some moment."""
    unsettled: FrozenSet[str] = frozenset()
    """Other files that kept changing in several rounds, and were copied as they were found."""
    is_saved: bool = False
    """Whether the manifest has every version, and no other file."""

    def find_changed(self, now: Scan) -> FrozenSet[str]:
        """Returns the files that differ from the snapshot, as far as it is of one moment."""
        ignored = self.restless | self.unsettled | self.held
        changed = {name for name, stamp in self.files.items() if name not in ignored and now.files.get(name) != stamp}
        added = now.files.keys() - self.files.keys() - self.scanned
        return frozenset(changed | added)


@dataclass(frozen=True)
class Interval:
    """The time between two rounds, in which a consistent state is found."""

    seconds: float
    is_first: bool = True
    """Whether the wait begins: the longer it takes, the shorter the pause that is required."""


class Snapshots:
    def __init__(self, tree: OutputTree, prefix: str, staging: Staging, warn: Callable[[str], None]) -> None:
        """`warn` logs a text once."""
        self.on_unsaved: Callable[[str], None] = lambda name: None
        """Called for a file that cannot be saved while the program runs."""
        self._tree = tree
        self._prefix = prefix
        self._staging = staging
        self._warn = warn
        self._folders = NewFolders()
        self._restless = RestlessFiles()
        self._failed_rounds = 0
        self._wait = QuietWait(0.0)
        self.half_written = HalfWritten()
        self.open_before: Mapping[str, int] = {}
        """The inodes of files that were open for writing at the beginning of the last round."""
        self.open_rounds: Mapping[str, int] = {}
        """In how many successive rounds they were."""
        self._rewritten: Set[str] = set()
        self._unsaved: Dict[str, Tuple[int, int]] = {}
        """The inode and the number of rounds, by name."""

    def record_rewritten(self, name: str) -> None:
        """Records that the program rewrites this file in place, so that it is copied instead of linked."""
        self._staging.discard(name)
        self._rewritten.add(name)

    def take(self, saved: Saved, interval: Interval, cancelled: threading.Event) -> Optional[Snapshot]:
        """Returns None if a save in progress has to be awaited, or if cancelled."""
        wait = self._wait = QuietWait(interval.seconds) if interval.is_first else self._wait
        self._restless.start_round()
        logs: Optional[FrozenSet[str]] = None
        tries = 0
        while True:
            started_at = time.monotonic()
            # A scan that is delayed must not make a pause of the program longer than it is.
            looked_at_ns = time.time_ns()
            changes = self._look(saved)
            if not changes.changed and saved.is_committed and saved.files.keys() == changes.scan.files.keys():
                return Snapshot(changes.scan.files, {}, frozenset(), is_saved=True)
            scan_seconds = time.monotonic() - started_at
            if logs is None:
                logs = self._find_logs(changes)
            self._restless.look(changes.scan.files, changes.changed)
            restless = frozenset(self._restless.names)
            if wait.is_quiet((looked_at_ns - changes.newest_ns(logs | restless)) / 1e9):
                has_failed = wait.has_failed and tries >= TRIES_MIN
                is_forced = has_failed and self._failed_rounds >= HELD_ROUNDS_MAX
                tries += 1
                situation = Situation(
                    tree=self._tree,
                    changes=changes,
                    looked_at_ns=looked_at_ns,
                    saved=saved,
                    logs=logs,
                    half_written=self.half_written.find(changes.scan.files),
                    restless=restless,
                    rewritten=self._rewritten,
                    overdue={name for name, (_, count) in self._unsaved.items() if count >= HELD_ROUNDS_MAX},
                    interval_seconds=interval.seconds,
                    required_seconds=wait.required_seconds,
                    accepts_unfinished=has_failed,
                )
                capture = Capture(situation, self._staging, is_forced)
                capture.run()
                if not is_forced:
                    capture.check(self._tree.scan(self._prefix))
                if is_forced or capture.is_consistent:
                    self._failed_rounds = 0 if capture.is_consistent and not is_forced else self._failed_rounds
                    return self._finish(situation, capture)
                if has_failed:
                    self._failed_rounds += 1
                    self._count_unsaved(changes, capture.half_saved | capture.moved)
                    return None
            if cancelled.wait(wait.pause_seconds(scan_seconds)):
                return None

    def _look(self, saved: Saved) -> Changes:
        scan = self._tree.scan(self._prefix)
        for problem in scan.skipped:
            self._warn(f'A file of the output cannot be uploaded: {problem}.')
        return find_changes(scan, saved, self._tree, self._folders)

    def _find_logs(self, changes: Changes) -> FrozenSet[str]:
        """
        Returns the files that processes only append to: by the mode in which they are open, or by their format, if they
        have been open since the last round.
        """
        if not changes.changed:
            return frozenset()
        open_files = self._tree.open_files()
        found = changes.scan.files
        logs = {
            name
            for name, only_appends in open_files.items()
            if only_appends
            or (name in found and self.open_before.get(name) == found[name].inode and is_log_name(name))
        }
        still = {name: found[name].inode for name in open_files if name in found}
        self.open_rounds = {
            name: self.open_rounds.get(name, 0) + 1 if self.open_before.get(name) == inode else 1
            for name, inode in still.items()
        }
        self.open_before = still
        return frozenset(logs)

    def _finish(self, situation: Situation, capture: Capture) -> Snapshot:
        changes = situation.changes
        for name, reason in capture.unreadable.items():
            self._warn(f'{name} in the output directory cannot be read, and is not saved: {reason}')
        self._count_unsaved(changes, capture.half_saved | capture.unfinished)
        self._folders.end_round(
            {name for name, folder in changes.new_folders.items() if folder.names & capture.unfinished}
        )
        self._staging.keep(capture.staged)
        return Snapshot(
            files=capture.versions(),
            staged=capture.staged,
            held=frozenset(capture.half_saved | capture.unreadable.keys()),
            scanned=frozenset(changes.scan.files),
            restless=frozenset(situation.logs | situation.restless),
            unsettled=frozenset(situation.overdue | capture.find_newer()),
        )

    def _count_unsaved(self, changes: Changes, names: Iterable[str]) -> None:
        """Counts the successive rounds that could not save each file, and reports it after some."""
        counted = {}
        for name in names:
            found = changes.scan.files.get(name)
            if found is None:
                continue
            inode, count = self._unsaved.get(name, (found.inode, 0))
            counted[name] = (found.inode, count + 1 if inode == found.inode else 1)
            if counted[name][1] == UNSAVED_ROUNDS_MAX:
                self.on_unsaved(name)
        self._unsaved = counted
