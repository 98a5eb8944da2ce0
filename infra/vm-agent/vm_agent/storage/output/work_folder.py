"""The files that the program creates or changes below its working directory, which are an output as well."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Callable, Dict, List, Mapping, Optional, Set, Tuple

from vm_agent.program.json_file import replace_json
from vm_agent.storage.output.output_files import Stamp, is_inside, stamp_of_entry, to_stamp, walk
from vm_agent.storage.output.output_rule import EXCLUDING_FILES, OutputRule

BYTES_MAX = 10 * 2**30
FILES_MAX = 10_000
# A scan ends early after so many times the limit.
SCANNED_TIMES_MAX = 10
# A folder is left out instead of its parent if it has at least this share of the parent's bytes or files.
NESTED_SHARE = 0.9

# The inode, size and modification time of a file, or None for a link.
Baseline = Mapping[str, Optional[List[int]]]


@dataclass(frozen=True)
class LeftOut:
    folder: str
    """Relative to the working directory; '' for the files directly in it."""
    size_bytes: int
    count: int


class WorkFolder:
    """
    Files of the working directory that differ from what it had before the program's first start. Without patterns at
    most BYTES_MAX and FILES_MAX: beyond them, the largest folders are left out, for the rest of this boot.
    """

    def __init__(
        self,
        path: Path,
        baseline: Baseline,
        rule: OutputRule,
        on_left_out: Callable[[List[LeftOut]], None],
        files_max: int = FILES_MAX,
        is_layer: bool = False,
    ) -> None:
        """
        `on_left_out` is called with the folders that are left out from now on. `is_layer`: it is a part of a container's
        file system, in which no hard links may be made.
        """
        self.path = path
        self.real_path = os.path.realpath(path)
        """A program in a container may put a link in its place later, which would lead anywhere."""
        self._baseline = baseline
        self._folders = {str(parent) for name in baseline for parent in PurePosixPath(name).parents}
        self._rule = rule
        self._on_left_out = on_left_out
        self._files_max = files_max
        self.is_layer = is_layer
        self._left_out: Set[str] = set()

    def at(self, path: Path, is_layer: bool = False) -> 'WorkFolder':
        """Returns the same with the files in another place."""
        moved = WorkFolder(path, self._baseline, self._rule, self._on_left_out, self._files_max, is_layer)
        moved._left_out = self._left_out
        return moved

    def had(self, name: str) -> bool:
        """Whether a file or a folder had this name, or a file that of a parent, before the program's first start."""
        parts = name.split('/')
        parents = ('/'.join(parts[:count]) for count in range(1, len(parts) + 1))
        return name in self._folders or any(parent in self._baseline for parent in parents)

    def is_left_out(self, name: str) -> bool:
        """Whether a file stays in its last saved version, since its folder is over the limit."""
        return not self._left_out.isdisjoint(_folders_of(name))

    def scan(self) -> Tuple[Dict[str, Stamp], Dict[str, int]]:
        """Returns the outputs by name, and the modification time in ns of the directories that were read."""
        while True:
            files, directories = self._walk()
            left_out = [] if self._rule.patterns else find_too_large(files, self._files_max)
            if not left_out:
                return files, directories
            self._left_out.update(one.folder for one in left_out)
            self._on_left_out(left_out)

    def _walk(self) -> Tuple[Dict[str, Stamp], Dict[str, int]]:
        files: Dict[str, Stamp] = {}
        directories: Dict[str, int] = {}
        if os.path.realpath(self.path) != self.real_path:
            return {}, {}
        for name, entry in walk(self.path, directories, self._enters):
            if name.rpartition('/')[0] in self._left_out or not self._rule.admits(name):
                continue
            if entry.is_symlink() and (name in self._baseline or not is_inside(entry, self.real_path)):
                continue
            stamp = stamp_of_entry(entry)
            if stamp is not None and self._baseline.get(name) != [stamp.inode, stamp.size_bytes, stamp.mtime_ns]:
                files[name] = stamp
            if not self._rule.patterns and len(files) > SCANNED_TIMES_MAX * self._files_max:
                break
        return files, directories

    def _enters(self, folder: str) -> bool:
        return (
            folder not in self._left_out
            and self._rule.enters(folder)
            and not any(os.path.lexists(self.path / folder / name) for name in EXCLUDING_FILES)
        )


def find_too_large(files: Mapping[str, Stamp], files_max: int = FILES_MAX) -> List[LeftOut]:
    """
    Returns the folders to leave out, if the files are more than the limits allow: those in the working directory with
    the most bytes or files, or those in them that have almost all of it.
    """
    weights, excess = _weights_over_limit(files, files_max)
    by_folder: 'Counter[str]' = Counter()
    found: Dict[str, List[int]] = {}
    for name in weights:
        for folder in _folders_of(name):
            by_folder[folder] += weights[name]
            sizes = found.setdefault(folder, [0, 0])
            sizes[0] += files[name].size_bytes
            sizes[1] += 1
    nested: Dict[str, str] = {}
    for folder, weight in by_folder.items():
        parent = folder.rpartition('/')[0]
        if parent and weight > by_folder[nested.get(parent, '/')]:
            nested[parent] = folder
    left_out = []
    outermost = [folder for folder in by_folder if '/' not in folder]
    for folder in sorted(outermost, key=lambda folder: (-by_folder[folder], folder)):
        if excess <= 0:
            break
        while folder in nested and by_folder[nested[folder]] >= NESTED_SHARE * by_folder[folder]:
            folder = nested[folder]
        excess -= by_folder[folder]
        left_out.append(LeftOut(folder, *found[folder]))
    return left_out


def _folders_of(name: str) -> List[str]:
    """Returns the folders that a file is in; '' for one directly in the working directory."""
    parts = name.split('/')[:-1]
    return ['/'.join(parts[:depth]) for depth in range(1, len(parts) + 1)] or ['']


def _weights_over_limit(files: Mapping[str, Stamp], files_max: int) -> Tuple[Mapping[str, int], int]:
    """Returns what counts of each file, and by how much it is too much; nothing if it is not."""
    if len(files) > files_max:
        return dict.fromkeys(files, 1), len(files) - files_max
    sizes = {name: stamp.size_bytes for name, stamp in files.items()}
    excess = sum(sizes.values()) - BYTES_MAX
    return (sizes, excess) if excess > 0 else ({}, 0)


def read_baseline(folder: Path, file: Path) -> Baseline:
    """
    Returns what the working directory has, and records it in a file: a reboot finds the program's files in it, too.
    """
    try:
        return dict(json.loads(file.read_text('utf-8')))
    except ValueError:
        # It was damaged, maybe after the program's start: too many files are saved, not too few.
        return {}
    except OSError:
        baseline = {}
        for parent, folders, names in os.walk(folder):
            for name in [*names, *folders]:
                path = os.path.join(parent, name)
                if os.path.islink(path):
                    baseline[os.path.relpath(path, folder)] = None
                elif name in names:
                    stamp = to_stamp(os.stat(path))
                    baseline[os.path.relpath(path, folder)] = [stamp.inode, stamp.size_bytes, stamp.mtime_ns]
        replace_json(file, baseline)
        return baseline
