"""Files that the program was writing when it got a signal that may have killed it."""

from dataclasses import dataclass
from typing import AbstractSet, FrozenSet, Mapping

from vm_agent.storage.output.output_files import Stamp, parent_of

# How long a program that is killed by a signal continues to write.
DEATH_NS_MAX = 10**9
# How long one save may take.
SAVE_NS_MAX = 60 * 10**9


@dataclass(frozen=True)
class HalfWritten:
    names: AbstractSet[str] = frozenset()
    signaled_at_ns: int = 0

    def find(self, files: Mapping[str, Stamp]) -> FrozenSet[str]:
        """Returns the files that are half written if the program has not survived the signal."""
        until_ns = self.signaled_at_ns + DEATH_NS_MAX
        return frozenset(name for name in self.names if name in files and files[name].mtime_ns < until_ns)

    def find_half_saved(self, files: Mapping[str, Stamp]) -> FrozenSet[str]:
        """Returns the same, and the files of their folders that may be part of the same saves."""
        written_at = [(parent_of(name), files[name].mtime_ns) for name in self.find(files)]
        return frozenset(
            name
            for name, stamp in files.items()
            if any(parent_of(name) == folder and at_ns - stamp.mtime_ns < SAVE_NS_MAX for folder, at_ns in written_at)
        )
