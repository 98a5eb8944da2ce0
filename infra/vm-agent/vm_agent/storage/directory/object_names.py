"""The names of objects below the job directory: those that Dropforge uses itself, and those of the program's files."""

from pathlib import PurePosixPath
from typing import Optional, Tuple

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
# The files of replicas whose names other replicas have, too: `dropforge-replicas/worker-1/log.txt`.
REPLICAS_PREFIX = 'dropforge-replicas/'
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
        and not name.startswith((PACKAGES_PREFIX, LOGS_PREFIX, SERIES_PREFIX, PARTS_PREFIX, REPLICAS_PREFIX))
    )


def replica_name_of(replica: str, name: str) -> str:
    """Returns the name of the object of a replica's file whose own name another replica has."""
    return f'{REPLICAS_PREFIX}{replica}/{name}'


def own_names(replica: str, name: str) -> Tuple[str, ...]:
    """Returns the names that an object of a replica's file may have; none if no file may have this name."""
    return (name, replica_name_of(replica, name)) if is_restorable(name) else ()


def local_name(name: str, replica: str) -> Optional[str]:
    """Returns the name that an object has as a file of the replica; None if it is not restored there."""
    own = replica_name_of(replica, '')
    local = name[len(own) :] if name.startswith(own) else name
    return local if is_restorable(local) else None


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
