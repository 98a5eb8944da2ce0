"""The changes of the output directory since it was last saved."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import AbstractSet, Dict, FrozenSet, Mapping, Optional

from vm_agent.storage.directory.object_names import WORK_PREFIX
from vm_agent.storage.output.new_folders import NewFolders
from vm_agent.storage.output.output_files import Scan, Stamp, parent_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import tail_of
from vm_agent.storage.transfer.client import ObjectInfo


@dataclass(frozen=True)
class SavedFile:
    """A version of a file, and the object that holds it."""

    stamp: Stamp
    info: ObjectInfo
    tail: int
    """See StagedFile."""


@dataclass
class Saved:
    """The version that the bucket holds."""

    files: Dict[str, SavedFile] = field(default_factory=dict)
    """The last uploaded version of each file."""
    committed: Mapping[str, ObjectInfo] = field(default_factory=dict)
    """The files that the manifest names."""

    @property
    def is_committed(self) -> bool:
        """Whether the manifest names the last uploaded versions, and no others."""
        uploaded = {name: file.info.generation for name, file in self.files.items()}
        return uploaded == {name: info.generation for name, info in self.committed.items()}

    def has_version(self, name: str, stamp: Stamp) -> bool:
        return name in self.files and self.files[name].stamp == stamp


@dataclass(frozen=True)
class NewFolder:
    """A directory of which no file is committed: usually one checkpoint, of several files."""

    names: FrozenSet[str]
    oldest_ns: int
    """The first and the last modification of its files."""
    newest_ns: int


@dataclass(frozen=True)
class Changes:
    scan: Scan
    changed: FrozenSet[str]
    """The files of which the bucket does not have this version."""
    grown: FrozenSet[str]
    """Those to which the program has only appended since they were saved."""
    known_folders: AbstractSet[str]
    """The directories that have committed files, the output directory itself, and the working directory."""
    new_folders: Mapping[str, NewFolder]
    """By name."""

    @property
    def outside(self) -> FrozenSet[str]:
        """The changed files that are in no new folder."""
        return self.changed.difference(*(folder.names for folder in self.new_folders.values()))

    def newest_ns(self, ignored: AbstractSet[str]) -> int:
        """Returns the time of the last change outside new folders, except for appending, and for the ignored files."""
        times = [self.scan.files[name].mtime_ns for name in self.outside - self.grown - ignored]
        times += [mtime_ns for name, mtime_ns in self.scan.directories.items() if name in self.known_folders]
        return max(times, default=0)


def find_changes(scan: Scan, saved: Saved, tree: OutputTree, folders: NewFolders) -> Changes:
    changed = frozenset(name for name, stamp in scan.files.items() if not saved.has_version(name, stamp))
    grown = frozenset(name for name in changed if _has_grown(tree.path(name), scan.files[name], saved.files.get(name)))
    known_folders = _find_known_folders(saved)
    split = folders.split(scan, changed, known_folders)
    folders.look(split)
    new_folders = {folder: _describe_folder(files) for folder, files in split.items()}
    return Changes(scan, changed, grown, known_folders, new_folders)


def _has_grown(path: Path, stamp: Stamp, saved: Optional[SavedFile]) -> bool:
    if saved is None or saved.stamp.inode != stamp.inode or saved.stamp.size_bytes >= stamp.size_bytes:
        return False
    try:
        return tail_of(path, saved.stamp.size_bytes) == saved.tail
    except OSError:
        return False


def _find_known_folders(saved: Saved) -> AbstractSet[str]:
    known = {'', WORK_PREFIX.rstrip('/')}
    for name in saved.committed:
        parent = parent_of(name)
        while parent not in known:
            known.add(parent)
            parent = parent_of(parent)
    return known


def _describe_folder(files: Mapping[str, Stamp]) -> NewFolder:
    times = [stamp.mtime_ns for stamp in files.values()]
    return NewFolder(frozenset(files), min(times), max(times))
