"""The artifacts of runs and models: files below the output directory, which reach the bucket as all outputs do."""

import os
import shutil
import uuid
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Tuple

from vm_agent.tracking.error import TrackingError, invalid, not_found

FOLDER = 'mlflow-artifacts'
PATH_CHARS_MAX = 800
PART_BYTES_MAX = 255
LIST_COUNT_MAX = 1_000
# Left for the program and the agent.
FREE_BYTES_MIN = 268_435_456
CHUNK_BYTES = 1_048_576


class ArtifactFolder:
    """Thread-safe: each file is written on its own, and is complete when it appears."""

    def __init__(self, output: Path, incoming: Path) -> None:
        """`incoming`, on the same disk, holds files that are not complete."""
        self._root = output / FOLDER
        self._incoming = incoming

    def write(self, name: str, body: BinaryIO, size_bytes: int) -> None:
        """Raises TrackingError."""
        target = self._locate(name)
        self._incoming.mkdir(parents=True, exist_ok=True)
        free_bytes = shutil.disk_usage(self._incoming).free
        if size_bytes > free_bytes - FREE_BYTES_MIN:
            message = f'The artifact {name} has {size_bytes} bytes, and the disk of the VM has {free_bytes} left.'
            raise TrackingError('RESOURCE_EXHAUSTED', message, 413)
        part = self._incoming / uuid.uuid4().hex
        try:
            with open(part, 'xb') as file:
                left = size_bytes
                while left > 0:
                    data = body.read(min(CHUNK_BYTES, left))
                    if not data:
                        raise invalid(f'The artifact {name} ended {left} bytes early.')
                    file.write(data)
                    left -= len(data)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, self._locate(name))
        except OSError as error:
            raise invalid(f'The artifact {name} cannot be written: {error.strerror}.') from error
        finally:
            part.unlink(missing_ok=True)

    def open(self, name: str) -> Tuple[BinaryIO, int]:
        """Returns the file and its size. Raises TrackingError."""
        try:
            file = open(self._locate(name), 'rb')
            return file, os.fstat(file.fileno()).st_size
        except OSError:
            raise not_found(f'The artifact {name}') from None

    def list(self, name: str) -> List[Dict[str, Any]]:
        """Returns messages FileInfo, whose paths are relative to the folder; empty if there is none."""
        folder = self._locate(name)
        files: List[Dict[str, Any]] = []
        try:
            for entry in sorted(os.scandir(folder), key=lambda one: one.name)[:LIST_COUNT_MAX]:
                if entry.is_dir(follow_symlinks=False):
                    files.append({'path': entry.name, 'is_dir': True})
                elif entry.is_file(follow_symlinks=False):
                    files.append({'path': entry.name, 'is_dir': False, 'file_size': entry.stat().st_size})
        except OSError:
            return []
        return files

    def delete(self, name: str) -> None:
        """Deletes a file or a folder, if it exists. Raises TrackingError."""
        target = self._locate(name)
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)

    def _locate(self, name: str) -> Path:
        """Returns the path of an artifact, which has no link on its way. Raises TrackingError."""
        parts = name.split('/')
        is_valid = all(part not in ('', '.', '..') and len(part.encode()) <= PART_BYTES_MAX for part in parts)
        if not is_valid or len(name) > PATH_CHARS_MAX or not name.isprintable() or '\\' in name:
            raise invalid(f'{name[:80]!r} is not a valid path of an artifact.')
        path = self._root.joinpath(*parts)
        if os.path.realpath(path) != os.path.join(os.path.realpath(self._root), *parts):
            raise invalid(f'{name[:80]!r} leads out of the artifacts of this job.')
        return path
