"""JSON files that are the old or the new one, whatever is killed while they are written."""

import json
import os
from pathlib import Path


def replace_json(path: Path, body: object, is_synced: bool = True) -> None:
    """Writes a file; `is_synced`: after a power failure, it is the old or the new one, too. Raises OSError."""
    temporary = path.with_suffix('.new')
    with open(temporary, 'w', encoding='utf-8') as file:
        json.dump(body, file)
        if is_synced:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, path)
