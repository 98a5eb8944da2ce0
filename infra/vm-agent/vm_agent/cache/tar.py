"""Packs and unpacks files of a virtual environment by the image's `tar`, which takes half of the time of Python's."""

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Iterable, Iterator, Sequence, Union

READ_BYTES = 1_048_576
ERROR_BYTES_MAX = 500
# Its messages in English; on macOS, no files with extended attributes beside the given ones.
VARIABLES = {'LC_ALL': 'C', 'COPYFILE_DISABLE': '1'}


class TarFailed(Exception):
    """`tar` could not read the files, or the archive."""


def pack(folder: Path, paths: Iterable[str]) -> Iterator[bytes]:
    """Yields the archive of these files below the folder; equal files give equal bytes. Raises TarFailed or OSError."""
    with tempfile.TemporaryFile() as names:
        names.writelines(os.fsencode(path) + b'\0' for path in paths)
        names.seek(0)
        with _tar(['-c', '-C', str(folder), '--null', '-T', '-'], names) as process:
            assert process.stdout is not None
            while piece := process.stdout.read(READ_BYTES):
                yield piece


def unpack(folder: Path, archive: Iterable[bytes]) -> None:
    """
    Unpacks an archive into an existing folder, and writes nothing outside of it. Raises TarFailed, OSError or what
    `archive` raises; of that, not all may have been read if tar has failed.
    """
    with _tar(['-x', '-C', str(folder), '--no-same-owner', '--no-same-permissions'], subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for piece in archive:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:
            # It has ended, and says why.
            return


@contextmanager
def _tar(arguments: Sequence[str], stdin: Union[int, IO[bytes]]) -> 'Iterator[subprocess.Popen[bytes]]':
    with tempfile.TemporaryFile() as errors:
        command = ['tar', '-f', '-', *arguments]
        inherited = {name: value for name, value in os.environ.items() if name != 'TAR_OPTIONS'}
        environment = {**inherited, **VARIABLES}
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, env=environment)
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            _close(process)
        if process.returncode != 0:
            errors.seek(0)
            message = errors.read(ERROR_BYTES_MAX).decode('utf-8', 'replace').strip()
            raise TarFailed(f'tar ended with status {process.returncode}: {message}')


def _close(process: 'subprocess.Popen[bytes]') -> None:
    for stream in (process.stdin, process.stdout):
        try:
            if stream is not None:
                stream.close()
        except BrokenPipeError:
            # Bytes were buffered for a process that has ended.
            continue
    process.wait()
