"""Files that a program rewrites so often, such as a status, that they say nothing about its saves."""

from typing import AbstractSet, Dict, Mapping, Optional, Set

from vm_agent.storage.output.output_files import Stamp

LOOKS_MIN = 8
CHANGED_FRACTION_MIN = 0.3
# Writing a larger file takes so long that it may itself be a save.
SIZE_BYTES_MAX = 65_536


class RestlessFiles:
    """Learns from one look to the next; what it has learned lasts until a round in which the file did not change."""

    def __init__(self) -> None:
        self.names: Set[str] = set()
        self._last: Mapping[str, Stamp] = {}
        self._looks = 0
        self._changed: Dict[str, int] = {}
        self._has_shrunk: Set[str] = set()

    def start_round(self) -> None:
        if self._looks >= LOOKS_MIN:
            self.names &= self._changed.keys()
        self._last, self._looks = {}, 0
        self._changed, self._has_shrunk = {}, set()

    def look(self, files: Mapping[str, Stamp], candidates: AbstractSet[str]) -> None:
        """`candidates` are the files that differ from what is saved."""
        self.names &= candidates
        if self._last:
            self._looks += 1
            for name in candidates:
                self._compare(name, self._last.get(name), files[name])
        self._last = {name: files[name] for name in candidates}

    def _compare(self, name: str, before: Optional[Stamp], now: Stamp) -> None:
        if before == now:
            return
        self._changed[name] = self._changed.get(name, 0) + 1
        # A file that only grows is being written: a save in progress.
        if before is not None and (before.inode != now.inode or before.size_bytes >= now.size_bytes):
            self._has_shrunk.add(name)
        is_frequent = self._changed[name] >= CHANGED_FRACTION_MIN * self._looks
        is_small = now.size_bytes <= SIZE_BYTES_MAX
        if self._looks >= LOOKS_MIN and is_frequent and is_small and name in self._has_shrunk:
            self.names.add(name)
