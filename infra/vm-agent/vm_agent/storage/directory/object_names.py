"""The names of objects below the job directory: those that Dropforge uses itself, and those of the program's files."""

from pathlib import PurePosixPath
from typing import Optional

MANIFEST_NAME = 'dropforge-manifest.json'
PACKAGES_PREFIX = 'packages/'
# The complete logs of replicas, as far as Cloud Logging does not have all lines.
LOGS_PREFIX = 'dropforge-logs/'
# The metric histories of replicas, in parts.
SERIES_PREFIX = 'dropforge-metrics/'
# The parts of files that are being uploaded.
PARTS_PREFIX = 'dropforge-parts/'
# The files of the program's working directory.
WORK_PREFIX = 'dropforge-workdir/'
RESERVED = 'the name is reserved for Dropforge'
# cloud.google.com/storage/docs/objects#naming
NAME_BYTES_MAX = 1_024


def is_restorable(name: str) -> bool:
    """Whether a name below the job directory is a plain relative path that Dropforge does not use itself."""
    parts = name.split('/')
    is_plain = all(part not in ('', '.', '..') and '\0' not in part for part in parts)
    return (
        is_plain
        and not PurePosixPath(name).is_absolute()
        and name != MANIFEST_NAME
        and not name.startswith((PACKAGES_PREFIX, LOGS_PREFIX, SERIES_PREFIX, PARTS_PREFIX))
    )


def reason_to_skip(relative: str, prefix: str) -> Optional[str]:
    if not is_restorable(relative):
        return RESERVED
    try:
        name_bytes = len((prefix + relative).encode('utf-8'))
    except UnicodeEncodeError:
        return 'the name is not valid UTF-8'
    if '\n' in relative or '\r' in relative:
        return 'the name contains a line break'
    return f'the name is longer than {NAME_BYTES_MAX} bytes' if name_bytes > NAME_BYTES_MAX else None
