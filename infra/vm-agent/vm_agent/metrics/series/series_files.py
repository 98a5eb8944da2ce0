"""The parts of one kind of series on the work disk, until they are uploaded."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

from vm_agent.metrics.series.series_part import SeriesOrigin

# An open part is uploaded again at each interval while it grows, compressed to about a third: larger ones cost more
# bytes, smaller ones more objects.
PART_BYTES_MAX = 1_048_576
LOCAL_SUFFIX = '.part'


@dataclass
class SeriesFile:
    path: Path
    written_bytes: int
    is_closed: bool
    committed_bytes: int = 0
    """The bytes that will not be written again after a reboot: later bytes are not uploaded."""
    uploaded_bytes: int = 0

    @property
    def object_name(self) -> str:
        return self.path.name[: -len(LOCAL_SUFFIX)]

    @property
    def is_uploaded(self) -> bool:
        return self.uploaded_bytes >= self.committed_bytes


class SeriesFiles:
    """Not thread-safe. Methods raise OSError."""

    def __init__(self, folder: Path, kind: str, origin: SeriesOrigin) -> None:
        self._folder = folder
        self._kind = kind
        self._origin = origin
        self._number = 0
        self._open: Optional[SeriesFile] = None
        self._files: List[SeriesFile] = []

    def recover(self, state: Optional[Dict[str, Any]]) -> None:
        """
        Closes what earlier boots of this attempt left. `state` is what `to_json` returned last: what was written after
        it is removed, as it will be written again. Without a state, all whole lines are kept.
        """
        for path in sorted(self._folder.glob(f'attempt-{self._origin.attempt}-*.{self._kind}.jsonl.gz{LOCAL_SUFFIX}')):
            size = _whole_lines_bytes(path)
            if state is not None and state['part'] is not None:
                size = size if path.name < state['part'] else state['bytes'] if path.name == state['part'] else 0
            elif state is not None:
                size = 0
            if size == 0:
                path.unlink()
                continue
            os.truncate(path, min(size, path.stat().st_size))
            size = path.stat().st_size
            self._files.append(SeriesFile(path, size, is_closed=True, committed_bytes=size))

    def append(self, data: bytes) -> None:
        """Writes whole lines behind those of the open part, or to a new one. Nothing is written if it raises."""
        file = self._open
        if file is None or file.written_bytes >= PART_BYTES_MAX:
            file = self._create()
        with open(file.path, 'r+b') as opened:
            # Behind these bytes is what a write left that failed.
            opened.seek(file.written_bytes)
            opened.truncate()
            opened.write(data)
        file.written_bytes += len(data)

    def commit(self) -> None:
        """Lets the bytes that were written be uploaded: `to_json` is stored."""
        for file in self._files:
            file.committed_bytes = file.written_bytes

    def _create(self) -> SeriesFile:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = self._origin.part_name(self._number + 1, self._kind)
        file = SeriesFile(self._folder / (name + LOCAL_SUFFIX), 0, is_closed=False)
        file.path.write_bytes(b'')
        closed, self._open = self._open, file
        self._number += 1
        self._files.append(file)
        if closed is not None:
            closed.is_closed = True
            self._remove_uploaded(closed)
        return file

    def to_upload(self) -> List[SeriesFile]:
        """Returns the parts that have bytes which are not uploaded, the oldest first."""
        return [file for file in self._files if not file.is_uploaded]

    def record_upload(self, file: SeriesFile, size_bytes: int) -> None:
        file.uploaded_bytes = size_bytes
        self._remove_uploaded(file)

    def _remove_uploaded(self, file: SeriesFile) -> None:
        if file.is_closed and file.uploaded_bytes >= file.written_bytes:
            self._files.remove(file)
            file.path.unlink()

    def to_json(self) -> Dict[str, Any]:
        """Names the newest part, which is one of an earlier boot until this boot has written one."""
        file = self._files[-1] if self._files else None
        return {'part': None if file is None else file.path.name, 'bytes': 0 if file is None else file.written_bytes}


def _whole_lines_bytes(path: Path) -> int:
    """The end of the last whole line: a write may have been cut."""
    with open(path, 'rb') as file:
        return file.read().rfind(b'\n') + 1
