"""Files that a container wrote to a folder of its image, which is deleted with the VM."""

import heapq
import os
import posixpath
from pathlib import Path
from typing import Iterator, List, Optional, Tuple

ENTRIES_MAX = 100_000
NAMES_MAX = 3


def describe_unsaved_below(root: Path, working_directory: str, started_at: float) -> Optional[str]:
    """
    Returns a warning that names the largest files written since a time by a container that has ended; None if there are
    none. `root` has what it has written outside of its mounts; links in it lead elsewhere on this machine, and are not
    followed.
    """
    folder = root
    for name in posixpath.normpath(f'/{working_directory}').strip('/').split('/'):
        folder = folder / name
        if folder.is_symlink():
            return None
    return _describe(folder, started_at)


def _describe(folder: Path, started_at: float) -> Optional[str]:
    found = list(_written_since(folder, started_at))
    if not found:
        return None
    largest = heapq.nlargest(NAMES_MAX, found)
    names = ', '.join(f'{_printable(os.path.relpath(path, folder))} ({size} bytes)' for size, path in largest)
    rest = f' and {len(found) - len(largest)} more' if len(found) > len(largest) else ''
    return (
        f'The program wrote files to its folder of the image, which is deleted with the VM: {names}{rest}. '
        'To keep them, write them to the directory in DROPFORGE_OUTPUT_DIR.'
    )


def _written_since(folder: Path, started_at: float) -> Iterator[Tuple[int, str]]:
    """
    Yields size and path of each file, except for what Python compiles and for empty ones, which engines create as mount
    points; stops after ENTRIES_MAX entries.
    """
    left = ENTRIES_MAX
    folders: List[str] = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        folders.extend([] if entry.name == '__pycache__' else [entry.path])
                    elif entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        # Unlike the time of modification, this one is not copied with a file.
                        if status.st_ctime >= started_at and status.st_size > 0:
                            yield status.st_size, entry.path
        except OSError:
            # The entry was deleted in the meantime.
            continue


def _printable(path: str) -> str:
    """A line break in a name would begin a line of the log."""
    text = path.encode('utf-8', 'replace').decode('utf-8')
    return ''.join(character if character.isprintable() else '?' for character in text)
