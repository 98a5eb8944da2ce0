"""Indexes of frameworks: files that name the other files of one checkpoint."""

import json
import posixpath
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, Optional, Tuple

from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.cluster.pickle_reader import read_pickle
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.client import ObjectInfo

# An index of torch for 70 billion parameters with Adam has 20 MB at 64 ranks; it is read in 4 s and 300 MB.
INDEX_BYTES_MAX = 32 * 2**20
_ENDINGS = ('.safetensors.index.json', '.bin.index.json', '.index')
# The last bytes of a table of LevelDB. Files of other programs are named `.index`, too.
_TABLE_END = bytes.fromhex('57fb808b247547db')
# Takes the place of the job directory's address, so that a path that leaves a folder is seen.
_ROOT = '/job/'


@dataclass(frozen=True)
class Incomplete:
    named: FrozenSet[str]
    """Names below the job directory: the index itself, and all that it names."""
    missing: Tuple[str, ...]
    """Those of them that are missing or too short, sorted."""


def index_names(files: Iterable[str]) -> List[str]:
    """The names that may be indexes; only the content tells."""
    return [name for name in files if posixpath.basename(name) == '.metadata' or name.endswith(_ENDINGS)]


def find_incomplete(files: Mapping[str, int], read: Callable[[str], Optional[bytes]]) -> Dict[str, Incomplete]:
    """
    Returns what is incomplete, by the name of its index. `files` has sizes in bytes by name below the job directory.
    `read` returns the content of an index, or None if it cannot be read: then nothing is known about it.
    """
    found: Dict[str, Incomplete] = {}
    for index in index_names(files):
        content = read(index) if files[index] <= INDEX_BYTES_MAX else None
        try:
            ends = {} if content is None else _read_ends(index, content)
        except Exception:  # The content is the program's, and may be anything.
            continue
        missing = sorted(name for name, end in ends.items() if files.get(name, -1) < end)
        if missing:
            found[index] = Incomplete(frozenset(ends) | {index}, tuple(missing))
    return found


def read_incomplete(
    directory: JobDirectory, files: Mapping[str, ObjectInfo], policy: RetryPolicy
) -> Dict[str, Incomplete]:
    """Returns the same of objects of a job directory. Raises StorageRejected or TransientError."""
    sizes = {name: info.size_bytes for name, info in files.items()}
    return find_incomplete(sizes, lambda name: directory.storage.read_version(files[name], policy))


def _read_ends(index: str, content: bytes) -> Dict[str, int]:
    """Returns the bytes that each file must have, by name."""
    folder, base = posixpath.split(posixpath.join(_ROOT, index))
    read = _read_torch if base == '.metadata' else _read_hugging_face if base.endswith('.json') else _read_tensorflow
    ends: Dict[str, int] = {}
    for path, end in read(base, content):
        name = posixpath.normpath(posixpath.join(folder, path))
        if name.startswith(folder + '/') and path.isprintable():
            ends[name[len(_ROOT) :]] = max(end, ends.get(name[len(_ROOT) :], 0))
    return ends


def _read_torch(_: str, content: bytes) -> List[Tuple[str, int]]:
    ends: List[Tuple[str, int]] = []
    for location in read_pickle(content).find('storage_data')[1::2]:
        path, offset, length = (location.find(name) for name in ('relative_path', 'offset', 'length'))
        if not (isinstance(path, str) and isinstance(offset, int) and isinstance(length, int)):
            raise ValueError('not the place of a tensor')
        ends.append((path, offset + length))
    return ends


def _read_hugging_face(_: str, content: bytes) -> List[Tuple[str, int]]:
    # Many digits take quadratic time if they are read as an integer.
    body: Any = json.loads(content, parse_int=float)
    return [(path, 0) for path in set(body['weight_map'].values())]


def _read_tensorflow(base: str, content: bytes) -> List[Tuple[str, int]]:
    """Reads the number of files from the table's first entry: its key is empty, and its value begins with that field."""
    if not content.endswith(_TABLE_END) or content[:2] != b'\0\0' or content[3] != 0x08:
        raise ValueError('not the index of a checkpoint')
    count = content[4] if content[4] < 0x80 else content[4] - 0x80 + content[5] * 0x80
    return [(f'{base[: -len(".index")]}.data-{number:05}-of-{count:05}', 0) for number in range(count)]
