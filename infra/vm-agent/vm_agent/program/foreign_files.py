"""
Files in folders that the program writes to as well. A program in a container reaches only its mounts, but a link in
them leads the agent wherever the agent may go, and a named pipe blocks it: neither is followed or opened here, whenever
it is put in the place of a file.
"""

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Iterator, Optional, Sequence

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, a named pipe would block.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_regular(path: Path, folder: Optional[int] = None) -> BinaryIO:
    """
    Opens a file for reading; a relative path is one of the folder with this descriptor. Raises OSError, also for
    anything but a regular file.
    """
    descriptor = os.open(path, _FILE_FLAGS, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, 'it is not a regular file', str(path))
        return os.fdopen(descriptor, 'rb')
    except BaseException:
        os.close(descriptor)
        raise


@contextmanager
def open_folder(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """
    Yields a descriptor of a folder below `root`, which itself is not the program's. Raises OSError, also if one of the
    parts is a link.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def open_below(root: Path, name: str) -> BinaryIO:
    """
    Does the same as `open_regular` for a file below `root`, which is not the program's; no folder of its name is a
    link.
    """
    *parents, last = name.split('/')
    with open_folder(root, parents) as folder:
        return open_regular(Path(last), folder)


def has_link(root: Path, folder: Path) -> bool:
    """Whether the path of a folder has a link below `root`. The program has ended, and puts none there later."""
    below = [folder, *folder.parents][: len(folder.relative_to(root).parts)]
    return any(path.is_symlink() for path in below)
