"""
Reports a program to the harness, one line of JSON each: the files that the agent restored, the step that the program
resumed, the files of each save on this replica, and the digest of the trained state.
"""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Dict, Iterable

STEPS, SAVE_EVERY, STEP_SECONDS = 60, 10, 0.2
OUTPUT = Path(os.environ.get('DROPFORGE_OUTPUT_DIR', 'output'))
# Where every process sees the files of all at once.
SHARED = os.environ.get('AIP_CHECKPOINT_DIR', 'checkpoints/').rstrip('/')
RANK, COUNT = int(os.environ.get('RANK', '0')), int(os.environ.get('WORLD_SIZE', '1'))
# A launcher starts several processes on a replica, of which the first one reports.
IS_FIRST = os.environ.get('LOCAL_RANK', '0') == '0'

_listed: Dict[str, str] = {}


def emit(event: str, **values: object) -> None:
    if IS_FIRST:
        print(json.dumps({'event': event, **values}), flush=True)


def list_files() -> Dict[str, str]:
    """Returns the SHA-256 of the files in the output directory, by relative path."""
    found = {}
    for path in sorted(OUTPUT.rglob('*')):
        try:
            if path.is_file():
                found[str(path.relative_to(OUTPUT))] = hashlib.sha256(path.read_bytes()).hexdigest()
        except FileNotFoundError:
            # An old checkpoint, which another process of the replica deletes.
            continue
    return found


def start() -> None:
    if IS_FIRST:
        _listed.update(list_files())
    emit('START', files=_listed)


def resumed(step: int) -> None:
    emit('RESUMED', step=step)


def saved(step: int) -> None:
    """Called by every replica when a save is complete."""
    files = list_files() if IS_FIRST else {}
    emit('SAVED', step=step, files={name: digest for name, digest in files.items() if _listed.get(name) != digest})
    _listed.clear()
    _listed.update(files)


def finished(parts: Iterable[bytes]) -> None:
    emit('FINISHED', digest=hashlib.sha256(b''.join(parts)).hexdigest())


def steps(first: int) -> Iterable[int]:
    for step in range(first + 1, STEPS + 1):
        time.sleep(STEP_SECONDS)
        yield step


def is_saved(step: int) -> bool:
    return step % SAVE_EVERY == 0

