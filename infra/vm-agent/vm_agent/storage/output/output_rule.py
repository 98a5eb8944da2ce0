"""Which files below the working directory are outputs."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Iterator, Sequence, Tuple

# Besides names that begin with a dot: version control, caches and tokens.
EXCLUDED_NAMES = ('__pycache__', 'node_modules', 'CVS')
# A directory with one of them is a cache (bford.info/cachedir) or a virtual environment (PEP 405).
EXCLUDING_FILES = ('CACHEDIR.TAG', 'pyvenv.cfg')


@dataclass(frozen=True)
class OutputRule:
    patterns: Tuple[str, ...] = ()
    """
    Relative paths; `*`, `?` and `[...]` stand for a part of a name, `**` for any folders. A folder stands for all files
    below it. Empty for all files but the excluded ones.
    """

    def admits(self, name: str) -> bool:
        """Whether a file is an output."""
        parts = name.split('/')
        if not self.patterns:
            return not any(map(is_excluded, parts))
        return any(_matches(pattern.rstrip('/').split('/'), parts) for pattern in self.patterns)

    def enters(self, folder: str) -> bool:
        """Whether a folder may have outputs."""
        parts = folder.split('/')
        if not self.patterns:
            return not any(map(is_excluded, parts))
        return any(_leads_to(pattern.rstrip('/').split('/'), parts) for pattern in self.patterns)


def is_excluded(name: str) -> bool:
    return name.startswith('.') or name in EXCLUDED_NAMES


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a file's path match, or those of a folder that it is below."""
    # Where the rest of the pattern may begin, so that many `**` do not multiply.
    starts = {0}
    for part in pattern:
        if part == '**':
            starts = {end for start in starts for end in _skip_folders(parts, start)}
        else:
            starts = {start + 1 for start in starts if start < len(parts) and _matches_name(part, parts[start])}
    return any(not any(map(is_excluded, parts[start:])) for start in starts)


def _skip_folders(parts: Sequence[str], start: int) -> Iterator[int]:
    """Yields where the parts may continue after a `**`."""
    for end in range(start, len(parts)):
        yield end
        if is_excluded(parts[end]):
            return


def _leads_to(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a file below the folder may match."""
    if not parts:
        return True
    if not pattern or pattern[0] == '**':
        return not any(map(is_excluded, parts)) or (bool(pattern) and _leads_to(pattern[1:], parts))
    return _matches_name(pattern[0], parts[0]) and _leads_to(pattern[1:], parts[1:])


def _matches_name(pattern: str, name: str) -> bool:
    """Matches as a shell does: a wildcard does not stand for the dot of a hidden name."""
    return fnmatchcase(name, pattern) and (not is_excluded(name) or pattern == name or pattern.startswith('.'))
