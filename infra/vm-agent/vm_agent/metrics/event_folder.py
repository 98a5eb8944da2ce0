"""Scalars of the TensorFlow event files below a folder: what TensorFlow, Keras, PyTorch and others write for TensorBoard."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from vm_agent.metrics.event_file import read_scalars
from vm_agent.metrics.event_protobuf import Scalar
from vm_agent.metrics.records import Sample

# Every writer has it in the names of its files: events.out.tfevents.<time>.<host>…
NAME_PART = 'tfevents'
FILE_COUNT_MAX = 1_000
# Of files and folders in one scan.
ENTRY_COUNT_MAX = 100_000
READ_BYTES = 8_388_608
READ_SECONDS_MAX = 2.0
# After the program's end, nothing is left for a later call.
LAST_READ_BYTES = 1_073_741_824
LAST_READ_SECONDS_MAX = 20.0
EVALUATION_FOLDERS = ('validation', 'val', 'valid')


@dataclass
class _Followed:
    inode: int
    offset: int


class EvaluationFirst:
    """
    Of a tag that is in several folders, the one of the evaluation counts: Keras writes to `train` and `validation`,
    Estimator to the job directory and `eval` or `eval_<name>`.
    """

    def __init__(self) -> None:
        self._tags: Set[str] = set()

    def select(self, name: str, scalars: List[Scalar]) -> List[Scalar]:
        """Returns those of the scalars of one file that count."""
        if is_evaluation(name):
            self._tags.update(scalar.tag for scalar in scalars)
            return scalars
        return [scalar for scalar in scalars if scalar.tag not in self._tags]

    def to_json(self) -> List[str]:
        return sorted(self._tags)

    def restore(self, tags: List[str]) -> None:
        self._tags = set(tags)


class EventFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: Dict[str, _Followed] = {}
        self._evaluation_first = EvaluationFirst()
        self.step: Optional[float] = None
        self.steps_max: Optional[float] = None

    def skip_existing(self) -> None:
        """Skips what earlier attempts wrote, whose output was restored: their metrics are known."""
        for name, found in self._find():
            self._files[name] = _Followed(found.st_ino, found.st_size)

    def read(self, is_last: bool = False) -> List[Sample]:
        """Returns what was written since the last call, a part of it if it is much. `is_last`: the program has ended."""
        bytes_left = LAST_READ_BYTES if is_last else READ_BYTES
        give_up_at = time.monotonic() + (LAST_READ_SECONDS_MAX if is_last else READ_SECONDS_MAX)
        scalars: List[Scalar] = []
        # The evaluation's files first: they decide what counts of the others. Of the rest, those that are least far.
        found = sorted(self._find(), key=lambda one: (not is_evaluation(one[0]), self._offset_of(one)))
        for name, stat in found:
            if bytes_left <= 0 or time.monotonic() > give_up_at:
                break
            offset = self._offset_of((name, stat))
            if stat.st_size > offset:
                new, end = self._read_file(name, offset, bytes_left)
                bytes_left -= end - offset
                scalars += self._evaluation_first.select(name, new)
                self._files[name] = _Followed(stat.st_ino, end)
        samples = samples_of(scalars)
        self.step = samples[-1].step if samples else self.step
        return samples

    def _offset_of(self, found: Tuple[str, os.stat_result]) -> int:
        """Returns where to go on; the start of a file that was replaced or truncated."""
        name, stat = found
        followed = self._files.get(name)
        is_same = followed is not None and followed.inode == stat.st_ino and followed.offset <= stat.st_size
        return followed.offset if followed is not None and is_same else 0

    def _read_file(self, name: str, offset: int, bytes_max: int) -> Tuple[List[Scalar], int]:
        try:
            with open(self._folder / name, 'rb') as file:
                return read_scalars(lambda start, size: os.pread(file.fileno(), size, start), offset, bytes_max)
        except OSError:
            # Deleted or unreadable: a later call reads it if it can.
            return [], offset

    def _find(self) -> Iterator[Tuple[str, os.stat_result]]:
        """Yields the event files; links are not followed."""
        pending, entry_count, file_count = [''], 0, 0
        while pending:
            parent = pending.pop()
            try:
                with os.scandir(self._folder / parent) as entries:
                    listed = list(entries)
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
        return {'files': files, 'evaluated': self._evaluation_first.to_json(), 'step': self.step}

    def restore(self, body: Dict[str, Any]) -> None:
        self._files = {name: _Followed(int(inode), int(offset)) for name, (inode, offset) in body['files'].items()}
        self._evaluation_first.restore(body['evaluated'])
        self.step = body['step']


def is_evaluation(name: str) -> bool:
    """Whether an event file is in a folder of an evaluation."""
    folders = name.split('/')[:-1]
    return any(folder in EVALUATION_FOLDERS or folder.startswith('eval') for folder in folders)


def samples_of(scalars: List[Scalar]) -> List[Sample]:
    """Returns them in the order of their times."""
    ordered = sorted(scalars, key=lambda scalar: scalar.wall_time)
    return [Sample(one.tag, one.value, float(one.step), one.wall_time or None) for one in ordered]
