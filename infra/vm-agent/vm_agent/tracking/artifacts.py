"""The artifacts of runs and models: files below the output directory, which reach the bucket as all outputs do."""

import os
import shutil
import uuid
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Tuple

from vm_agent.storage.foreign_files import open_folder, open_regular
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
        self._output = output
        self._incoming = incoming

    def write(self, name: str, body: BinaryIO, size_bytes: int) -> None:
        """Raises TrackingError."""
        *parents, last = self._split(name)
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
            with open_folder(self._output, parents, creates=True) as folder:
                os.replace(part, last, dst_dir_fd=folder)
        except OSError as error:
            raise invalid(f'The artifact {name} cannot be written: {error.strerror}.') from error
        finally:
            part.unlink(missing_ok=True)

    def open(self, name: str) -> Tuple[BinaryIO, int]:
        """Returns the file and its size. Raises TrackingError."""
        *parents, last = self._split(name)
        try:
            with open_folder(self._output, parents) as folder:
                file = open_regular(Path(last), folder)
            return file, os.fstat(file.fileno()).st_size
        except OSError:
            raise not_found(f'The artifact {name}') from None

    def list(self, name: str) -> List[Dict[str, Any]]:
        """Returns messages FileInfo, whose paths are relative to the folder; empty if there is none."""
        parts = self._split(name)
        files: List[Dict[str, Any]] = []
        try:
            with open_folder(self._output, parts) as folder, os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda one: one.name)[:LIST_COUNT_MAX]:
                    if entry.is_dir(follow_symlinks=False):
                        files.append({'path': entry.name, 'is_dir': True})
                    elif entry.is_file(follow_symlinks=False):
                        size_bytes = entry.stat(follow_symlinks=False).st_size
                        files.append({'path': entry.name, 'is_dir': False, 'file_size': size_bytes})
        except OSError:
            return []
        return files

    def delete(self, name: str) -> None:
        """Deletes a file or a folder, if it exists. Raises TrackingError."""
        *parents, last = self._split(name)
        # Where no program has a path to it.
        moved = self._incoming / uuid.uuid4().hex
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
            with open_folder(self._output, parents) as folder:
                os.rename(last, moved, src_dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise invalid(f'The artifact {name} cannot be deleted: {error.strerror}.') from error
        if moved.is_dir() and not moved.is_symlink():
            shutil.rmtree(moved, ignore_errors=True)
        else:
            moved.unlink()

    @staticmethod
    def _split(name: str) -> List[str]:
        """Returns the path of an artifact below the output directory. Raises TrackingError."""
        parts = name.split('/')
        is_valid = all(part not in ('', '.', '..') and len(part.encode()) <= PART_BYTES_MAX for part in parts)
        if not is_valid or len(name) > PATH_CHARS_MAX or not name.isprintable() or '\\' in name:
            raise invalid(f'{name[:80]!r} is not a valid path of an artifact.')
        return [FOLDER, *parts]
