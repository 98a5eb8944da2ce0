"""
Unpacks archives as the agent does. Reads a path a line from stdin, and prints a JSON object a line: the files with the
SHA-256 of their bytes, or why the archive is not valid.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.setup.source_tree import InvalidArchive, unpack


def main() -> int:
    with tempfile.TemporaryDirectory(prefix='dropforge-unpacked-') as folder:
        for line in sys.stdin:
            target = Path(folder, 'unpacked')
            try:
                unpack(Path(line.rstrip('\n')), target)
                paths = (path for path in sorted(target.rglob('*')) if path.is_file())
                files = {
                    path.relative_to(target).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
                }
                print(json.dumps({'files': files}), flush=True)
            except InvalidArchive as error:
                print(json.dumps({'invalid': str(error)}), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
