"""Checkpoints: one JSON file each, complete or not there at all."""

import json
import os
from pathlib import Path
from typing import Optional

KEPT_MAX = 3


class CheckpointMismatch(Exception):
    """The checkpoint belongs to a run with other settings; going on from it would train neither of the two."""


def write_json(path: Path, value: object) -> None:
    """Replaces the file in one step: whoever reads it, or copies it, never sees a half-written one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Hidden, so that whatever copies the directory while training goes on can tell that it is not finished.
    draft = path.with_name(f'.{path.name}.tmp')
    with draft.open('w', encoding='utf-8') as file:
        json.dump(value, file, separators=(',', ':'))
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def save_checkpoint(directory: Path, checkpoint: dict) -> Path:
    """Writes the checkpoint of its step and deletes all but the newest KEPT_MAX."""
    path = directory / f'step-{checkpoint["step"]:08d}.json'
    write_json(path, checkpoint)
    for outdated in _list_newest_first(directory)[KEPT_MAX:]:
        outdated.unlink()
    return path


def load_last_checkpoint(directory: Path, settings: dict) -> Optional[dict]:
    """The newest checkpoint that can be read, or None where there is none.

    Raises CheckpointMismatch when it was written with other settings.
    """
    for path in _list_newest_first(directory):
        try:
            checkpoint = json.loads(path.read_text(encoding='utf-8'))
        except ValueError as problem:
            print(f'{path} cannot be read ({problem}); the checkpoint before it is taken.', flush=True)
            continue
        if checkpoint['settings'] != settings:
            raise CheckpointMismatch(
                f'{path} was written with {checkpoint["settings"]}, but this run asks for {settings}. '
                'Give the same settings, or another --job-dir to begin anew.'
            )
        return checkpoint
    return None


def _list_newest_first(directory: Path):
    return sorted(directory.glob('step-*.json'), reverse=True)
