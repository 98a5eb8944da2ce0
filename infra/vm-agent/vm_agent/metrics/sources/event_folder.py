"""
Scalars of the TensorFlow event files below a folder: what TensorFlow, Keras, PyTorch and others write for TensorBoard.
"""

import os
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.event_file import read_scalars
from vm_agent.metrics.sources.event_protobuf import Scalar
from vm_agent.metrics.sources.event_runs import EventSource, is_evaluation
from vm_agent.program.foreign_files import open_below

# Every writer has it in the names of its files: events.out.tfevents.<time>.<host>…
NAME_PART = 'tfevents'
FILE_COUNT_MAX = 1_000
# Event files are not among the many files of a data set.
FOLDER_ENTRY_COUNT_MAX = 10_000
# The number of files and folders in one scan.
ENTRY_COUNT_MAX = 100_000
# A scan that takes longer, for the many files of a data set, is repeated only after this many times what it took.
SCAN_SECONDS_MAX = 0.05
SCAN_PAUSE_FACTOR = 20.0
READ_BYTES = 8_388_608
READ_SECONDS_MAX = 2.0


@dataclass
class _Followed:
    inode: int
    offset: int


class EventFolder(EventSource):
    def __init__(self, folder: Optional[Path]) -> None:
        """None if it is not known yet."""
        super().__init__()
        self._folder = folder
        self._scan_at = 0.0
        self._files: Dict[str, _Followed] = {}

    def open(self, folder: Path) -> None:
        """Reads another folder from now on, without the files that it has."""
        self._folder, self._files = folder, {}
        self.skip_existing()

    def skip_existing(self) -> None:
        """Skips what earlier attempts wrote, whose output was restored: their metrics are known."""
        for name, found in self._scan():
            self._files[name] = _Followed(found.st_ino, found.st_size)

    def read(self, is_last: bool = False) -> List[Sample]:
        """Returns what was written since the last call, a part of it if it is much."""
        bytes_left = READ_BYTES
        give_up_at = time.monotonic() + READ_SECONDS_MAX
        self.is_behind = False
        samples: List[Sample] = []
        # The evaluation's files first: they decide what counts of the others. Of the rest, those that are least far.
        found = sorted(self._find(is_last), key=lambda one: (not is_evaluation(one[0]), self._offset_of(one)))
        for name, stat in found:
            if bytes_left <= 0 or time.monotonic() > give_up_at:
                self.is_behind = True
                break
            offset = self._offset_of((name, stat))
            if stat.st_size > offset:
                new, end = self._read_file(name, offset, bytes_left)
                bytes_left -= end - offset
                self.is_behind = self.is_behind or (bytes_left <= 0 and end < stat.st_size)
                samples += self._runs.samples_of(name, new)
                self._files[name] = _Followed(stat.st_ino, end)
        return self._in_order(samples)

    @property
    def has_files(self) -> bool:
        return bool(self._files)

    def _offset_of(self, found: Tuple[str, os.stat_result]) -> int:
        """Returns where to go on; the start of a file that was replaced or truncated."""
        name, stat = found
        followed = self._files.get(name)
        is_same = followed is not None and followed.inode == stat.st_ino and followed.offset <= stat.st_size
        return followed.offset if followed is not None and is_same else 0

    def _read_file(self, name: str, offset: int, bytes_max: int) -> Tuple[List[Scalar], int]:
        try:
            assert self._folder is not None
            with open_below(self._folder, name) as file:
                return read_scalars(lambda start, size: os.pread(file.fileno(), size, start), offset, bytes_max)
        except OSError:
            # Deleted or unreadable: a later call reads it if it can.
            return [], offset

    def _find(self, is_last: bool) -> List[Tuple[str, os.stat_result]]:
        """Returns the event files: until the next scan, those that are known."""
        began_at = time.monotonic()
        if is_last or began_at >= self._scan_at:
            found = list(self._scan())
            seconds = time.monotonic() - began_at
            self._scan_at = began_at + (SCAN_PAUSE_FACTOR * seconds if seconds > SCAN_SECONDS_MAX else 0.0)
            return found
        return [(name, stat) for name in self._files for stat in self._stat(name)]

    def _stat(self, name: str) -> List[os.stat_result]:
        try:
            return [os.lstat(self._folder / name)] if self._folder is not None else []
        except OSError:
            return []

    def _scan(self) -> Iterator[Tuple[str, os.stat_result]]:
        """Yields the event files; links are not followed."""
        if self._folder is None:
            return
        pending, entry_count, file_count = [''], 0, 0
        while pending:
            parent = pending.pop()
            try:
                with os.scandir(self._folder / parent) as entries:
                    listed = list(islice(entries, FOLDER_ENTRY_COUNT_MAX))
            except OSError:
                continue
            for entry in listed:
                entry_count += 1
                if entry_count > ENTRY_COUNT_MAX or file_count >= FILE_COUNT_MAX:
                    return
                name = f'{parent}/{entry.name}' if parent else entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(name)
                    elif NAME_PART in entry.name and entry.is_file(follow_symlinks=False):
                        file_count += 1
                        yield name, entry.stat(follow_symlinks=False)
                except OSError:
                    continue

    def to_json(self) -> Dict[str, Any]:
        files = {name: [file.inode, file.offset] for name, file in self._files.items()}
        return {'files': files, **super().to_json()}

    def restore(self, body: Dict[str, Any]) -> None:
        self._files = {name: _Followed(int(inode), int(offset)) for name, (inode, offset) in body['files'].items()}
        super().restore(body)
