"""Which files the local output directory holds, and whether a name from the bucket may be one of them."""

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
    """Equal stamps: the file has not been written to."""

    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True)
class Scan:
    files: Dict[str, Stamp]
    left_out: Tuple[str, ...]
    """Names that cannot be saved, with the reason."""


def stamp_of(path: Path) -> Stamp:
    found = path.stat()
    return Stamp(found.st_size, found.st_mtime_ns)


def scan_output(folder: Path, prefix: str) -> Scan:
    """The regular files, and links to files inside; directories behind links and special files are passed over."""
    files: Dict[str, Stamp] = {}
    left_out = []
    real_folder = os.path.realpath(folder)
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            reason = _unfit(relative, prefix) if _is_inside(path, real_folder) else 'it is a link that leads out'
            if reason is None and len(files) >= FILE_COUNT_MAX:
                reason = f'more than {FILE_COUNT_MAX} files'
            if reason is not None:
                left_out.append(f'{relative!r}: {reason}')
                continue
            try:
                found = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                files[relative] = Stamp(found.st_size, found.st_mtime_ns)
    return Scan(files, tuple(left_out))


def is_restorable(name: str) -> bool:
    """Whether an object's name below the job directory is a plain relative path, and not one of the service's own."""
    parts = name.split('/')
    is_plain = all(part not in ('', '.', '..') and '\0' not in part for part in parts)
    return (
        is_plain
        and not PurePosixPath(name).is_absolute()
        and name != MANIFEST_NAME
        and not name.startswith(PACKAGES_PREFIX)
    )


def _unfit(relative: str, prefix: str) -> Optional[str]:
    if not is_restorable(relative):
        return 'the name is kept for Dropforge'
    try:
        name_bytes = len((prefix + relative).encode('utf-8'))
    except UnicodeEncodeError:
        return 'the name is not UTF-8'
    if '\n' in relative or '\r' in relative:
        return 'the name has a line end'
    return f'the name has more than {NAME_BYTES_MAX} bytes' if name_bytes > NAME_BYTES_MAX else None


def _is_inside(path: Path, real_folder: str) -> bool:
    return not path.is_symlink() or os.path.realpath(path).startswith(real_folder + os.sep)
