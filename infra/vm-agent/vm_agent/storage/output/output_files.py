"""The files of the local output directory."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from vm_agent.storage.directory.object_names import RESERVED, WORK_PREFIX, reason_to_skip

FILE_COUNT_MAX = 100_000


@dataclass(frozen=True)
class Stamp:
    """One version of a file: if all are equal, the file has been neither replaced nor written to."""

    inode: int
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True)
class Scan:
    files: Dict[str, Stamp]
    directories: Dict[str, int]
    """The modification time in ns by name, '' for the scanned folder itself: it changes when an entry comes or goes."""
    skipped: Tuple[str, ...] = ()
    """Names that cannot be uploaded, with the reason."""


def to_stamp(found: os.stat_result) -> Stamp:
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def stamp_of(path: Path) -> Stamp:
    return to_stamp(path.stat())


def parent_of(name: str) -> str:
    """Returns the directory of a file; '' for the output directory itself."""
    return name.rpartition('/')[0]


def parents_of(name: str) -> Iterator[str]:
    """Yields the directories that a file is in, from the innermost, without the output directory itself."""
    while name := parent_of(name):
        yield name


def scan_output(folder: Path, prefix: str) -> Scan:
    """Finds regular files, and links to files inside the folder. Linked directories and special files are ignored."""
    files: Dict[str, Stamp] = {}
    directories: Dict[str, int] = {}
    skipped = []
    real_folder = os.path.realpath(folder)
    for name, entry in walk(folder, directories):
        stamp = stamp_of_entry(entry)
        if stamp is None:
            continue
        reason = reason_to_skip(name, prefix) if is_inside(entry, real_folder) else 'a link out of the directory'
        if reason is None and name.startswith(WORK_PREFIX):
            reason = RESERVED
        if reason is None and len(files) >= FILE_COUNT_MAX:
            reason = f'more than {FILE_COUNT_MAX} files'
        if reason is None:
            files[name] = stamp
        else:
            skipped.append(f'{name!r}: {reason}')
    return Scan(files, directories, tuple(skipped))


def walk(
    folder: Path, directories: Dict[str, int], enters: Callable[[str], bool] = lambda name: True
) -> Iterator[Tuple[str, 'os.DirEntry[str]']]:
    """
    Yields each entry that is no directory, with its name relative to the folder, and records the modification times of
    the directories in ns. Follows no links; `enters` says which directories to read.
    """
    pending = ['']
    while pending:
        parent = pending.pop()
        for entry in _list_entries(folder, parent, directories):
            name = f'{parent}/{entry.name}' if parent else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield name, entry
            elif enters(name):
                pending.append(name)


def stamp_of_entry(entry: 'os.DirEntry[str]') -> Optional[Stamp]:
    """Returns None for what is no regular file, nor a link to one."""
    try:
        found = entry.stat()
    except OSError:
        return None
    return to_stamp(found) if stat.S_ISREG(found.st_mode) else None


def _list_entries(folder: Path, name: str, directories: Dict[str, int]) -> List['os.DirEntry[str]']:
    """Returns the entries of a directory, and records its modification time; nothing if it is gone by now."""
    path = os.path.join(folder, name)
    try:
        mtime_ns = os.stat(path).st_mtime_ns
        with os.scandir(path) as entries:
            listed = list(entries)
    except OSError:
        return []
    directories[name] = mtime_ns
    return listed


def is_inside(entry: 'os.DirEntry[str]', real_folder: str) -> bool:
    """Whether it is no link that leads out of a folder."""
    return not entry.is_symlink() or os.path.realpath(entry.path).startswith(real_folder + os.sep)
