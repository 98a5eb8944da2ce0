"""The files of the local output directory, and which names of objects may be restored into it."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Dict, Optional, Tuple

MANIFEST_NAME = 'dropforge-manifest.json'
PACKAGES_PREFIX = 'packages/'
FILE_COUNT_MAX = 100_000
# cloud.google.com/storage/docs/objects#naming
NAME_BYTES_MAX = 1_024


@dataclass(frozen=True)
class Stamp:
    """Size and modification time of a file: if both are equal, the file has not been written to."""

    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True)
class Scan:
    files: Dict[str, Stamp]
    skipped: Tuple[str, ...]
    """Names that cannot be uploaded, with the reason."""


def stamp_of(path: Path) -> Stamp:
    found = path.stat()
    return Stamp(found.st_size, found.st_mtime_ns)


def scan_output(folder: Path, prefix: str) -> Scan:
    """Finds regular files, and links to files inside the folder. Linked directories and special files are ignored."""
    files: Dict[str, Stamp] = {}
    skipped = []
    real_folder = os.path.realpath(folder)
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            reason = (
                _reason_to_skip(relative, prefix) if _is_inside(path, real_folder) else 'a link out of the directory'
            )
            if reason is None and len(files) >= FILE_COUNT_MAX:
                reason = f'more than {FILE_COUNT_MAX} files'
            if reason is not None:
                skipped.append(f'{relative!r}: {reason}')
                continue
            try:
                found = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                files[relative] = Stamp(found.st_size, found.st_mtime_ns)
    return Scan(files, tuple(skipped))


def is_restorable(name: str) -> bool:
    """Whether a name below the job directory is a plain relative path that Dropforge does not use itself."""
    parts = name.split('/')
    is_plain = all(part not in ('', '.', '..') and '\0' not in part for part in parts)
    return (
        is_plain
        and not PurePosixPath(name).is_absolute()
        and name != MANIFEST_NAME
        and not name.startswith(PACKAGES_PREFIX)
    )


def _reason_to_skip(relative: str, prefix: str) -> Optional[str]:
    if not is_restorable(relative):
        return 'the name is reserved for Dropforge'
    try:
        name_bytes = len((prefix + relative).encode('utf-8'))
    except UnicodeEncodeError:
        return 'the name is not valid UTF-8'
    if '\n' in relative or '\r' in relative:
        return 'the name contains a line break'
    return f'the name is longer than {NAME_BYTES_MAX} bytes' if name_bytes > NAME_BYTES_MAX else None


def _is_inside(path: Path, real_folder: str) -> bool:
    return not path.is_symlink() or os.path.realpath(path).startswith(real_folder + os.sep)
