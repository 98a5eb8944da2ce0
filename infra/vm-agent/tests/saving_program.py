"""
A program that saves its state at a cadence in one of several styles, until it is killed. Its output shows which step it
is from, and whether it is whole. When a step has been saved, it prints `STEP BEGAN_AT SAVED_AT PAUSE_SECONDS`: the
longest pause between two files of the save.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Callable, Dict, Mapping, Sequence

KEPT_COUNT = 3
PIECES = 8
RECORD_BYTES = 64
FOLDER_FILES = ('model', 'optimizer', 'state')


class Torn(Exception):
    """Saved files that no single save has written."""


def encode(step: int, size_bytes: int) -> bytes:
    body = f'{step:08d}'.encode() * (size_bytes // 8)
    return b'begin %08d ' % step + body + b' end %08d' % step


def decode(body: bytes) -> int:
    """Returns the step. Raises Torn if the bytes are not those of one step."""
    step = int(body[6:14] or b'-1')
    if body != encode(step, len(body) - len(encode(step, 0))):
        raise Torn(f'{len(body)} bytes are not those of step {step}')
    return step


def write(path: Path, body: bytes, pause_seconds: float = 0.0) -> None:
    """Writes in pieces, as serializers do."""
    with open(path, 'wb', buffering=0) as file:
        for start in range(0, len(body), max(1, len(body) // PIECES)):
            file.write(body[start : start + max(1, len(body) // PIECES)])
            time.sleep(pause_seconds / PIECES)


class Save:
    """Saves one step in a folder; `write_seconds` is about the time that writing takes."""

    def __init__(self, folder: Path, size_bytes: int, write_seconds: float) -> None:
        self.folder = folder
        self.size_bytes = size_bytes
        self.write_seconds = write_seconds
        self.pause_seconds = 0.0

    def files(self, folder: Path, names: Sequence[str], step: int) -> None:
        """Writes several files, with a pause after each but the last."""
        self.pause_seconds = 0.0
        closed_at = time.time()
        for number, name in enumerate(names):
            if number > 0:
                time.sleep(self.write_seconds / len(names))
            self.pause_seconds = max(self.pause_seconds, time.time() - closed_at)
            write(folder / name, encode(step, self.size_bytes), self.write_seconds / len(names))
            closed_at = time.time()

    def rename(self, step: int) -> None:
        write(self.folder / 'last.tmp', encode(step, self.size_bytes), self.write_seconds)
        os.replace(self.folder / 'last.tmp', self.folder / 'last')

    def in_place(self, step: int) -> None:
        write(self.folder / 'last', encode(step, self.size_bytes), self.write_seconds)

    def pair(self, step: int) -> None:
        self.files(self.folder, ('model', 'optimizer'), step)

    def append(self, step: int) -> None:
        with open(self.folder / 'history', 'a') as file:
            file.write(f'{step:0{RECORD_BYTES - 1}d}\n')

    def index_last(self, step: int) -> None:
        write(self.folder / f'ckpt-{step}.data', encode(step, self.size_bytes), self.write_seconds)
        write(self.folder / f'ckpt-{step}.index', encode(step, 100))
        write(self.folder / 'checkpoint.tmp', encode(step, 0))
        os.replace(self.folder / 'checkpoint.tmp', self.folder / 'checkpoint')
        for suffix in ('data', 'index'):
            (self.folder / f'ckpt-{step - KEPT_COUNT}.{suffix}').unlink(missing_ok=True)

    def folder_of_files(self, step: int) -> None:
        target = self.folder / f'checkpoint-{step}'
        target.mkdir()
        self.files(target, FOLDER_FILES, step)
        shutil.rmtree(self.folder / f'checkpoint-{step - KEPT_COUNT}', ignore_errors=True)

    def renamed_folder(self, step: int) -> None:
        temporary = self.folder / f'checkpoint-{step}.tmp'
        temporary.mkdir()
        self.files(temporary, FOLDER_FILES, step)
        os.rename(temporary, self.folder / f'checkpoint-{step}')
        shutil.rmtree(self.folder / f'checkpoint-{step - KEPT_COUNT}', ignore_errors=True)


def _step_of_file(files: Mapping[str, bytes]) -> int:
    return decode(files['last']) if 'last' in files else 0


def _step_of_pair(files: Mapping[str, bytes]) -> int:
    steps = {decode(body) for name, body in files.items() if name in ('model', 'optimizer')}
    if len(steps) > 1 or (steps and not files.keys() >= {'model', 'optimizer'}):
        raise Torn(f'model and optimizer are from steps {steps}')
    return max(steps, default=0)


def _step_of_history(files: Mapping[str, bytes]) -> int:
    lines = files.get('history', b'').decode().splitlines()
    if [int(line) for line in lines] != list(range(1, len(lines) + 1)):
        raise Torn('the history has gaps')
    return len(lines)


def _step_of_index(files: Mapping[str, bytes]) -> int:
    if 'checkpoint' not in files:
        return 0
    step = decode(files['checkpoint'])
    for suffix in ('data', 'index'):
        name = f'ckpt-{step}.{suffix}'
        if name not in files or decode(files[name]) != step:
            raise Torn(f'checkpoint names step {step}, but {name} is missing or another')
    return step


def _step_of_folder(files: Mapping[str, bytes]) -> int:
    folders = {name.split('/')[0] for name in files if name.startswith('checkpoint-') and '.tmp' not in name}
    if not folders:
        return 0
    newest = max(folders, key=lambda name: int(name[len('checkpoint-') :]))
    for name in FOLDER_FILES:
        if f'{newest}/{name}' not in files or decode(files[f'{newest}/{name}']) != int(newest[len('checkpoint-') :]):
            raise Torn(f'{newest}/{name} is missing or another')
    return int(newest[len('checkpoint-') :])


STEP_OF: Dict[str, Callable[[Mapping[str, bytes]], int]] = {
    'rename': _step_of_file,
    'in_place': _step_of_file,
    'pair': _step_of_pair,
    'append': _step_of_history,
    'index_last': _step_of_index,
    'folder_of_files': _step_of_folder,
    'renamed_folder': _step_of_folder,
}
"""By style, returns the last step that is saved in the files; 0 if none is. Raises Torn."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('folder', type=Path)
    parser.add_argument('style', choices=sorted(STEP_OF))
    parser.add_argument('--cadence', type=float, required=True)
    parser.add_argument('--size', type=int, required=True)
    parser.add_argument('--write-seconds', type=float, default=0.0)
    parser.add_argument('--status', action='store_true', help='rewrite a small file in place all the time')
    args = parser.parse_args()
    save = Save(args.folder, args.size, args.write_seconds)
    step, next_at = 1, time.time()
    while True:
        if args.status:
            write(args.folder / 'status', encode(int(time.time() * 100), 40))
        if time.time() >= next_at:
            began_at = time.time()
            getattr(save, args.style)(step)
            print(step, began_at, time.time(), save.pause_seconds, flush=True)
            step, next_at = step + 1, max(time.time(), next_at + args.cadence)
        time.sleep(0.01 if args.status else max(0.0, next_at - time.time()))


if __name__ == '__main__':
    sys.exit(main())
