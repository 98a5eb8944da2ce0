"""
The format of a cached environment: a manifest, and parts that are named after the SHA-256 of their bytes.

The files' bytes follow one another in the order of the manifest, and are cut into parts. A file of at least PART_BYTES
starts a part of its own, so that environments with the same large library share its parts; a smaller file is never cut.
"""

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Dict, Iterator, List, Sequence, Tuple

FORMAT = 1
# Large enough for the speed of the network despite a request each, small enough to be verified in memory before any of
# its bytes are written.
PART_BYTES = 8_388_608
MANIFEST_BYTES_MAX = 33_554_432


class InvalidEntry(Exception):
    """The entry is incomplete, damaged, or not one that an agent wrote: it is not used."""


@dataclass(frozen=True)
class CachedFile:
    path: str
    """Relative to the virtual environment, without `..`."""
    size_bytes: int
    mode: int
    modified_at_ns: int


@dataclass(frozen=True)
class Part:
    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Slice:
    """The bytes of one file in one part."""

    file: CachedFile
    file_offset: int
    part_offset: int
    size_bytes: int

    @property
    def is_whole_file(self) -> bool:
        return self.size_bytes == self.file.size_bytes


@dataclass(frozen=True)
class Manifest:
    key: str
    created_at: float
    """Seconds since the epoch."""
    python: str
    """The path of the virtual environment's interpreter, which scripts contain."""
    cpu: str
    """The features of the CPU that it was compiled for; empty if it runs on every CPU."""
    distributions: Tuple[str, ...]
    files: Tuple[CachedFile, ...]
    parts: Tuple[Part, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def plan_parts(files: Sequence[CachedFile]) -> Iterator[Tuple[Slice, ...]]:
    """Yields the slices of each part; empty files are in none. The same files are always cut in the same way."""
    gathered: List[Slice] = []
    used_bytes = 0
    for file in files:
        is_large = file.size_bytes >= PART_BYTES
        if gathered and (is_large or used_bytes + file.size_bytes > PART_BYTES):
            yield tuple(gathered)
            gathered, used_bytes = [], 0
        if is_large:
            for offset in range(0, file.size_bytes, PART_BYTES):
                yield (Slice(file, offset, 0, min(PART_BYTES, file.size_bytes - offset)),)
        elif file.size_bytes > 0:
            gathered.append(Slice(file, 0, used_bytes, file.size_bytes))
            used_bytes += file.size_bytes
    if gathered:
        yield tuple(gathered)


def write_manifest(manifest: Manifest) -> bytes:
    body = {
        'format': FORMAT,
        'key': manifest.key,
        'createdAt': manifest.created_at,
        'python': manifest.python,
        'cpu': manifest.cpu,
        'distributions': list(manifest.distributions),
        'files': [[file.path, file.size_bytes, file.mode, file.modified_at_ns] for file in manifest.files],
        'parts': [[part.sha256, part.size_bytes] for part in manifest.parts],
    }
    return json.dumps(body, allow_nan=False, separators=(',', ':')).encode()


def read_manifest(text: bytes, key: str) -> Manifest:
    """Parses and checks a manifest. Raises InvalidEntry."""
    try:
        manifest = _parse(json.loads(text))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise InvalidEntry(f'its manifest is not valid: {error!r}') from error
    if manifest.key != key:
        raise InvalidEntry('its manifest is of another environment')
    seen = set()
    for file in manifest.files:
        path = PurePosixPath(file.path)
        is_inside = not path.is_absolute() and '..' not in path.parts and path.parts and '\0' not in file.path
        if not is_inside or path in seen or file.size_bytes < 0:
            raise InvalidEntry(f'its file {file.path!r} is not a path inside the environment, or appears twice')
        seen.add(path)
    planned = [sum(one.size_bytes for one in slices) for slices in plan_parts(manifest.files)]
    if planned != [part.size_bytes for part in manifest.parts]:
        raise InvalidEntry('its parts do not add up to its files')
    return manifest


def _parse(body: Dict[str, Any]) -> Manifest:
    if body['format'] != FORMAT:
        raise ValueError(f'format {body["format"]!r}')
    return Manifest(
        key=str(body['key']),
        created_at=float(body['createdAt']),
        python=str(body['python']),
        cpu=str(body['cpu']),
        distributions=tuple(str(name) for name in body['distributions']),
        files=tuple(
            CachedFile(str(path), int(size_bytes), int(mode) & 0o755, int(modified_at_ns))
            for path, size_bytes, mode, modified_at_ns in body['files']
        ),
        parts=tuple(Part(str(sha256), int(size_bytes)) for sha256, size_bytes in body['parts']),
    )
