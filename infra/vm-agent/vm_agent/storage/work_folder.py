"""What the program creates or changes below its working directory, which is an output as well."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Callable, Dict, List, Mapping, Optional, Set, Tuple

from vm_agent.storage.output_files import Stamp, is_inside, stamp_of_entry, to_stamp, walk
from vm_agent.storage.output_rule import EXCLUDING_FILES, OutputRule

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
        on_left_out: Callable[[LeftOut], None],
        files_max: int = FILES_MAX,
        is_layer: bool = False,
    ) -> None:
        """
        `on_left_out` is called for each folder that is left out. `is_layer`: it is a part of a container's file system,
        in which no hard links may be made.
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
        """Whether there was a file or a folder of this name, or a file in the place of a parent, before its first start."""
        parts = name.split('/')
        parents = ('/'.join(parts[:count]) for count in range(1, len(parts) + 1))
        return name in self._folders or any(parent in self._baseline for parent in parents)

    def is_left_out(self, name: str) -> bool:
        """Whether a file stays in its last saved version, since its folder is over the limit."""
        parent = name.rpartition('/')[0]
        return parent in self._left_out or any(parent.startswith(f'{folder}/') for folder in self._left_out if folder)

    def scan(self) -> Tuple[Dict[str, Stamp], Dict[str, int]]:
        """Returns the outputs by name, and the modification time in ns of the directories that were read."""
        while True:
            files, directories = self._walk()
            left_out = None if self._rule.patterns else find_too_large(files, self._files_max)
            if left_out is None:
                return files, directories
            self._left_out.add(left_out.folder)
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


def find_too_large(files: Mapping[str, Stamp], files_max: int = FILES_MAX) -> Optional[LeftOut]:
    """
    Returns the folder to leave out, if the files are more than the limits allow: the one in the working directory with
    the most bytes or files, or the one in it that has almost all of them.
    """
    weights = _weights_over_limit(files, files_max)
    if weights is None:
        return None
    by_folder: 'Counter[str]' = Counter()
    for name, weight in weights.items():
        parts = name.split('/')[:-1]
        for depth in range(1, len(parts) + 1):
            by_folder['/'.join(parts[:depth])] += weight
        by_folder[''] += 0 if parts else weight
    chosen = max((folder for folder in by_folder if '/' not in folder), key=lambda folder: by_folder[folder])
    while chosen:
        nested = [folder for folder in by_folder if folder.rpartition('/')[0] == chosen]
        largest = max(nested, key=lambda folder: by_folder[folder], default=None)
        if largest is None or by_folder[largest] < NESTED_SHARE * by_folder[chosen]:
            break
        chosen = largest
    below = [
        stamp.size_bytes
        for name, stamp in files.items()
        if (name.startswith(f'{chosen}/') if chosen else '/' not in name)
    ]
    return LeftOut(chosen, sum(below), len(below))


def _weights_over_limit(files: Mapping[str, Stamp], files_max: int) -> Optional[Mapping[str, int]]:
    if len(files) > files_max:
        return dict.fromkeys(files, 1)
    sizes = {name: stamp.size_bytes for name, stamp in files.items()}
    return sizes if sum(sizes.values()) > BYTES_MAX else None


def read_baseline(folder: Path, file: Path) -> Baseline:
    """Returns what the working directory has, and records it in a file: a reboot finds the program's files in it, too."""
    try:
        return dict(json.loads(file.read_text('utf-8')))
    except (OSError, ValueError):
        baseline = {}
        for parent, folders, names in os.walk(folder):
            for name in [*names, *folders]:
                path = os.path.join(parent, name)
                if os.path.islink(path):
                    baseline[os.path.relpath(path, folder)] = None
                elif name in names:
                    stamp = to_stamp(os.stat(path))
                    baseline[os.path.relpath(path, folder)] = [stamp.inode, stamp.size_bytes, stamp.mtime_ns]
        temporary = file.with_suffix('.new')
        temporary.write_text(json.dumps(baseline), 'utf-8')
        os.replace(temporary, file)
        return baseline
