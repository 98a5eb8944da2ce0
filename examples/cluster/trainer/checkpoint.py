"""
Checkpoints of several files: a shard of each replica, and an index that names all of them, which is written last. Any
number of replicas can read them.
"""

import json
import os
from pathlib import Path
from typing import Optional

INDEX = 'index.json'
KEPT_COUNT = 2


def shard_name(step: int, rank: int, count: int) -> str:
    return f'step-{step:08d}.shard-{rank}-of-{count}.json'


def write_json(path: Path, value: object) -> None:
    """Writes the file as a whole: a reader finds the one before, or this one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f'.{path.name}.draft')
    draft.write_text(json.dumps(value))
    os.replace(draft, path)


def write_index(folder: Path, step: int, shards: list[str]) -> list[str]:
    """Completes a checkpoint, whose shards are written; returns the names of the files of the last checkpoints."""
    earlier = [index for index in read_index(folder) if index['step'] < step]
    indexes = [*earlier, {'step': step, 'shards': shards}][-KEPT_COUNT:]
    write_json(folder / INDEX, indexes)
    return [name for index in indexes for name in index['shards']]


def delete_others(folder: Path, kept: list[str]) -> None:
    for path in folder.glob('step-*'):
        if path.name not in kept:
            path.unlink()


def read_index(folder: Path) -> list[dict]:
    """Returns steps and shards, the last checkpoint at the end."""
    return json.loads((folder / INDEX).read_text()) if (folder / INDEX).exists() else []


def read_last(folder: Path) -> Optional[tuple[int, list[float]]]:
    """
    Returns step and parameters of the last checkpoint of which every shard is there; None without one. Prints which
    shards are missing.
    """
    for index in reversed(read_index(folder)):
        missing = [name for name in index['shards'] if not (folder / name).exists()]
        if not missing:
            shards = [json.loads((folder / name).read_text()) for name in index['shards']]
            return index['step'], [number for shard in shards for number in shard]
        print(f'The checkpoint of step {index["step"]} cannot be used without {", ".join(missing)}.', flush=True)
    return None
