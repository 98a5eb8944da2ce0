"""The manifest of a job directory: the attempt that owns it, and the generations of its files that belong together."""

import json
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional

from vm_agent.storage.transfer.client import Author, ObjectInfo

REPORTS_MAX = 1_000_000_000


@dataclass(frozen=True)
class Manifest:
    author: Optional[Author]
    """The last attempt that claimed the directory; None if none has."""
    files: Mapping[str, ObjectInfo] = field(default_factory=dict)
    """By name below the job directory."""
    reports: Mapping[str, int] = field(default_factory=dict)
    """For a trial, how often each of its metrics had been reported without a step when the files were saved."""
    writers: Mapping[str, str] = field(default_factory=dict)
    """The replica that has written a file, by name; without those of the master."""
    set_number: int = 0
    """Counts the sets of files that this attempt has committed."""


def encode_manifest(manifest: Manifest) -> bytes:
    writers = manifest.writers
    files = {
        name: {**encode_file(info), **({'replica': writers[name]} if name in writers else {})}
        for name, info in sorted(manifest.files.items())
    }
    author = manifest.author
    claim = {} if author is None else {'jobId': author.job_id, 'attempt': author.attempt}
    # Agents of earlier versions require `completeTo`.
    head = {**claim, 'completeTo': None, 'set': manifest.set_number, 'reports': dict(manifest.reports)}
    return json.dumps({**head, 'files': files}, indent=1, allow_nan=False).encode('utf-8')


def encode_file(info: ObjectInfo) -> Dict[str, Any]:
    modified = {} if info.modified_ns is None else {'modifiedNs': str(info.modified_ns)}
    return {'sizeBytes': info.size_bytes, 'crc32c': info.crc32c, 'generation': info.generation, **modified}


def decode_file(file: Any, bucket: str, name: str) -> ObjectInfo:
    """Raises KeyError, TypeError or ValueError."""
    return ObjectInfo(
        bucket=bucket,
        name=name,
        generation=str(file['generation']),
        size_bytes=int(file['sizeBytes']),
        crc32c=str(file['crc32c']),
        md5=None,
        author=None,
        # Manifests of earlier versions do not have it.
        modified_ns=int(file['modifiedNs']) if 'modifiedNs' in file else None,
    )


def encode_object(info: ObjectInfo) -> Dict[str, Any]:
    """Returns the same with the name of the object."""
    return {'object': info.name, **encode_file(info)}


def decode_object(entry: Any, bucket: str) -> ObjectInfo:
    """Raises KeyError, TypeError or ValueError."""
    return decode_file(entry, bucket, str(entry['object']))


def decode_manifest(body: bytes, bucket: str, prefix: str) -> Manifest:
    """Raises ValueError if the body is not a manifest that an attempt has written."""
    try:
        parsed: Any = json.loads(body)
        files = {name: decode_file(file, bucket, prefix + name) for name, file in parsed['files'].items()}
        writers = {name: str(file['replica']) for name, file in parsed['files'].items() if 'replica' in file}
        author = Author(str(parsed['jobId']), int(parsed['attempt']))
        return Manifest(author, files, _decode_reports(parsed.get('reports')), writers, int(parsed.get('set', 0)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f'not a valid manifest: {error!r}') from error


def _decode_reports(body: Any) -> Dict[str, int]:
    """Manifests of earlier versions do not have them, and no invalid number may cost the files."""
    counts = body.items() if isinstance(body, dict) else ()
    return {name: count for name, count in counts if type(count) is int and 0 <= count <= REPORTS_MAX}
