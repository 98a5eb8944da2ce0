"""One try to copy a consistent state of the output directory."""

import time
from dataclasses import dataclass
from typing import AbstractSet, Dict, Optional, Set

from vm_agent.storage.output.output_changes import Changes, NewFolder, Saved
from vm_agent.storage.output.output_files import Scan, Stamp, parent_of, stamp_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.quiet_wait import QUIET_SHARE
from vm_agent.storage.output.staging import StagedFile, Staging, Unstable, UnstableFile, Wanted

FORCED_TRIES_MAX = 5
# How long a moment between two writers is looked for in one round: a share of the sync interval, and so of a core.
LEASE_SHARE = 0.1
LEASE_SECONDS_MAX = 2.0
# A file that has not changed for this time, and for an interval, is copied although a process has it open for writing:
# it is kept open, and not just being written.
IDLE_SECONDS_MIN = 10.0


@dataclass(frozen=True)
class Situation:
    """The state from which a capture starts."""

    tree: OutputTree
    changes: Changes
    looked_at_ns: int
    """When the scan of these changes began, by time.time_ns()."""
    saved: Saved
    logs: AbstractSet[str]
    """Files that a process has open and only appends to."""
    half_written: AbstractSet[str]
    """Files that the program may never finish."""
    restless: AbstractSet[str]
    """Files that change all the time: each is copied as it is found."""
    rewritten: AbstractSet[str]
    """Files that the program is known to rewrite in place."""
    overdue: AbstractSet[str]
    """Files of which no complete version could be copied in several rounds: a writer is made to wait."""
    interval_seconds: float
    required_seconds: float
    """A new folder is complete if it has not changed for so long."""
    accepts_unfinished: bool
    """New files that are being written may be left out: the search for a moment without any is over."""

    def wanted(self, name: str, stamp: Stamp) -> Wanted:
        previous = self.saved.files.get(name)
        is_same_file = previous is not None and previous.stamp.inode == stamp.inode
        is_log = name in self.logs
        idle_seconds = max(IDLE_SECONDS_MIN, self.interval_seconds)
        is_idle = self.looked_at_ns - stamp.mtime_ns >= idle_seconds * 1e9
        return Wanted(name, stamp, is_log, is_log or is_idle, must_copy=name in self.rewritten or is_same_file)

    def may_wait(self, folder: NewFolder) -> bool:
        """
        Whether a new folder can be left out for now: nothing else has changed since its first file was written, which
        could point to it, and nothing was deleted that it may replace.
        """
        others = self.changes.outside - self.changes.grown - self.logs - self.restless
        has_deleted = not self.saved.committed.keys() <= self.changes.scan.files.keys()
        is_replaced = has_deleted and not any(map(self.is_followed, self.changes.new_folders.values()))
        return not is_replaced and all(self.changes.scan.files[name].mtime_ns < folder.oldest_ns for name in others)

    def is_followed(self, folder: NewFolder) -> bool:
        """Whether the program has begun to write another new folder since: then this one is complete."""
        return any(other.oldest_ns > folder.newest_ns for other in self.changes.new_folders.values())


class Capture:
    def __init__(self, situation: Situation, staging: Staging, is_forced: bool) -> None:
        """`is_forced`: files that keep changing are copied as they are found, each whole, some milliseconds apart."""
        self._situation = situation
        self._staging = staging
        self._is_forced = is_forced
        self._lease_seconds = min(LEASE_SECONDS_MAX, LEASE_SHARE * situation.interval_seconds)
        self.staged: Dict[str, StagedFile] = {}
        self.unfinished: Set[str] = set()
        """New files that are still being written: the snapshot is from before them."""
        self.half_saved: Set[str] = set()
        """Files that are being rewritten, and those of new folders that are being written and already pointed to."""
        self.moved: Set[str] = set()
        """Files that changed since the scan, so that the copies may be from different moments."""
        self.deleted: Set[str] = set()
        self.unreadable: Dict[str, str] = {}
        """Files that cannot be read, with the reason."""

    @property
    def is_consistent(self) -> bool:
        return not self.half_saved and not self.moved

    def run(self) -> None:
        for folder in self._situation.changes.new_folders.values():
            self._add_folder(folder)
        scanned = self._situation.changes.scan.files
        for name in sorted(self._situation.changes.outside, key=lambda name: (scanned[name].mtime_ns, name)):
            self._sort(name, self._stage(name))

    def check(self, after: Scan) -> None:
        """
        Compares with a scan after `run`. Each copy is of the version that the first scan found: all of them existed
        together when that scan ended, provided that the files that needed no copy have not changed since.
        """
        changes = self._situation.changes
        for name, stamp in changes.scan.files.items():
            if name not in changes.changed and after.files.get(name) != stamp:
                self.moved.add(name)
        added = after.files.keys() - changes.scan.files.keys()
        self.moved.update(name for name in added if parent_of(name) in changes.known_folders)

    def find_newer(self) -> AbstractSet[str]:
        """Returns the files that had changed again when they were copied."""
        scanned = self._situation.changes.scan.files
        return {name for name, file in self.staged.items() if file.stamp != scanned[name]}

    def versions(self) -> Dict[str, Stamp]:
        """Returns the version of each file that the snapshot has."""
        without = self.unfinished | self.half_saved | self.deleted | self.unreadable.keys()
        found = {name: stamp for name, stamp in self._situation.changes.scan.files.items() if name not in without}
        return {**found, **{name: file.stamp for name, file in self.staged.items()}}

    def _add_folder(self, folder: NewFolder) -> None:
        situation = self._situation
        age_seconds = (situation.looked_at_ns - folder.newest_ns) / 1e9
        may_wait = situation.may_wait(folder)
        is_young = not situation.is_followed(folder) and not self._is_forced
        if is_young and may_wait and age_seconds < QUIET_SHARE * situation.interval_seconds:
            self.unfinished |= folder.names
            return
        if is_young and age_seconds < situation.required_seconds:
            self.moved |= folder.names
            return
        reasons = {name: self._stage(name) for name in folder.names}
        if not any(reasons.values()):
            return
        for name in folder.names:
            self.staged.pop(name, None)
        if may_wait:
            self.unfinished |= folder.names
        elif Unstable.OPEN in reasons.values() or self._is_forced:
            self.half_saved |= folder.names
        else:
            self.moved |= folder.names

    def _sort(self, name: str, reason: Optional[Unstable]) -> None:
        is_known = name in self._situation.saved.committed
        if reason is Unstable.OPEN and not is_known and self._situation.accepts_unfinished:
            self.unfinished.add(name)
        elif reason is Unstable.OPEN or (reason is not None and self._is_forced):
            self.half_saved.add(name)
        elif reason is not None:
            self.moved.add(name)

    def _stage(self, name: str) -> Optional[Unstable]:
        """Copies a file; returns why it could not be copied, if another try may succeed."""
        if name in self._situation.half_written:
            return Unstable.OPEN
        stamp = self._situation.changes.scan.files[name]
        is_forced = self._is_forced or name in self._situation.restless
        reason: Optional[Unstable] = None
        for _ in range(FORCED_TRIES_MAX if is_forced else 1):
            try:
                self.staged[name] = self._staging.stage(self._situation.wanted(name, stamp))
                return None
            except UnstableFile as unstable:
                reason = unstable.reason
            except OSError as error:
                self.unreadable[name] = str(error)
                return None
            if is_forced:
                try:
                    stamp = stamp_of(self._situation.tree.path(name))
                except OSError:
                    self.deleted.add(name)
                    return None
        situation = self._situation
        is_overdue = situation.accepts_unfinished and name in situation.overdue
        return self._stage_held(name) if self._is_forced or is_overdue else reason

    def _stage_held(self, name: str) -> Optional[Unstable]:
        started_at = time.monotonic()
        try:
            self.staged[name] = self._staging.stage_held(name, self._lease_seconds)
            return None
        except UnstableFile as unstable:
            return unstable.reason
        except FileNotFoundError:
            self.deleted.add(name)
            return None
        except OSError as error:
            self.unreadable[name] = str(error)
            return None
        finally:
            self._lease_seconds = max(0.0, self._lease_seconds - (time.monotonic() - started_at))
