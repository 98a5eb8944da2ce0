"""Checkpoints: one JSON file each, written atomically."""

import json
import os
from pathlib import Path
from typing import Optional

KEPT_MAX = 3


class CheckpointMismatch(Exception):
    """The checkpoint is of a run with other settings; resuming from it would mix the two."""


def write_json(path: Path, value: object) -> None:
    """Replaces the file atomically: a process that reads or copies it never sees a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Hidden, so that a process that copies the directory during training can skip it.
    temporary = path.with_name(f'.{path.name}.tmp')
    with temporary.open('w', encoding='utf-8') as file:
        json.dump(value, file, separators=(',', ':'))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def save_checkpoint(directory: Path, checkpoint: dict) -> Path:
    """Writes the checkpoint of its step, deletes all but the newest KEPT_MAX, and returns the path."""
    path = directory / f'step-{checkpoint["step"]:08d}.json'
    write_json(path, checkpoint)
    for outdated in _list_newest_first(directory)[KEPT_MAX:]:
        outdated.unlink()
    return path


def load_last_checkpoint(directory: Path, settings: dict) -> Optional[dict]:
    """Returns the newest readable checkpoint, or None.

    Raises CheckpointMismatch if it was written with other settings.
    """
    for path in _list_newest_first(directory):
        try:
            checkpoint = json.loads(path.read_text(encoding='utf-8'))
        except ValueError as problem:
            print(f'{path} cannot be read ({problem}); using the previous checkpoint.', flush=True)
            continue
        if checkpoint['settings'] != settings:
            raise CheckpointMismatch(
                f'{path} was written with {checkpoint["settings"]}, but this run has {settings}. '
                'Use the same settings, or another --job-dir to start from scratch.'
            )
        return checkpoint
    return None


def _list_newest_first(directory: Path):
    return sorted(directory.glob('step-*.json'), reverse=True)
