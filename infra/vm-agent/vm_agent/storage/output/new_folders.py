"""Which new directories hold one checkpoint each, so that they are saved as a whole."""

from typing import AbstractSet, Dict, Iterable, Mapping, Set

from vm_agent.storage.output.output_files import Scan, Stamp, parent_of

# After so many rounds, a folder that is written all the time is not one save.
ROUNDS_MAX = 2


class NewFolders:
    """
    A program writes each file of a new checkpoint once. A folder in which files are rewritten or deleted, or that is
    written for several rounds, is a place for several saves instead, as is one that has only folders.
    """

    def __init__(self) -> None:
        self._places: Set[str] = set()
        self._last: Mapping[str, Dict[str, Stamp]] = {}
        self._rounds: Dict[str, int] = {}

    def split(self, scan: Scan, changed: Iterable[str], known: AbstractSet[str]) -> Mapping[str, Dict[str, Stamp]]:
        """Returns the changed files by the new folder that they belong to; `known` folders have committed files."""
        with_files = {parent_of(name) for name in scan.files}
        is_place = {*known, *self._places}.__contains__
        folders: Dict[str, Dict[str, Stamp]] = {}
        for name in changed:
            outermost, parent = '', parent_of(name)
            while parent and not is_place(parent):
                outermost = parent if parent in with_files else outermost
                parent = parent_of(parent)
            if outermost:
                folders.setdefault(outermost, {})[name] = scan.files[name]
        return folders

    def look(self, folders: Mapping[str, Dict[str, Stamp]]) -> None:
        """Learns from the difference to the last look."""
        for folder, files in folders.items():
            inodes = {stamp.inode for stamp in files.values()}
            for name, before in self._last.get(folder, {}).items():
                now = files.get(name)
                is_deleted = now is None and before.inode not in inodes
                is_rewritten = now is not None and (now.inode != before.inode or now.size_bytes < before.size_bytes)
                if is_deleted or is_rewritten:
                    self._places.add(folder)
        self._last = folders

    def end_round(self, unfinished: AbstractSet[str]) -> None:
        """`unfinished` are the folders that were left out of the round's snapshot."""
        self._rounds = {folder: self._rounds.get(folder, 0) + 1 for folder in unfinished}
        self._places.update(folder for folder, rounds in self._rounds.items() if rounds >= ROUNDS_MAX)
