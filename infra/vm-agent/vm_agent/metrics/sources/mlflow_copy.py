"""
The copy of MLflow's database in the output directory. The database itself is elsewhere: a file that is open and
rewritten in place all the time would keep snapshots from being consistent (docs/adr/0025), and be torn in the bucket.
"""

import os
import shutil
import time
from pathlib import Path
from typing import Callable, Iterator, Optional, Tuple

from vm_agent.metrics.sources.foreign_database import (
    UnreadableDatabase,
    check_space,
    copy_database,
    open_read_only,
    update,
)
from vm_agent.paths.mlflow_plugin import ARTIFACTS, LOCATIONS
from vm_agent.program.foreign_files import open_below, open_folder

NAME = 'dropforge-mlflow.db'
COPY_SECONDS_MAX = 10.0
# Every copy counts as a change of the output directory, and is uploaded.
COPY_SECONDS_MIN = 15.0
# Copying a large database takes at most this share of the time.
COPY_FRACTION_MAX = 0.05


class MlflowCopy:
    """Not thread-safe. No method raises for what a program has written."""

    def __init__(self, database: Path, output: Path, log: Callable[[str, str], None]) -> None:
        self._database = database
        self._output = output
        self._log = log
        # Among the agent's own files, on the disk of the output.
        self._part = output.parent / f'new-{NAME}'
        self._copied: Optional[Tuple[object, ...]] = None
        self._next_at = 0.0
        self._problem = ''

    def restore(self) -> None:
        """Lets the program go on with the database of earlier attempts, unless it has one since before a reboot."""
        if os.path.lexists(self._database):
            return
        try:
            with open_below(self._output, NAME) as file:
                self._database.parent.mkdir(parents=True, exist_ok=True)
                with open(self._part, 'wb') as part:
                    shutil.copyfileobj(file, part)
            # In a container, the program may run as any user.
            self._part.chmod(0o666)
            os.replace(self._part, self._database)
        except FileNotFoundError:
            return
        except OSError as error:
            self._warn(f'the runs of earlier attempts could not be restored: {error}')

    def update(self, source: Path, is_last: bool) -> None:
        """
        Copies the database if it has changed and the copy is old enough. `source` is the database, or what was
        recovered of it.
        """
        found = tuple(self._stamp_of(name) for name in ('', '-wal'))
        if found == self._copied or (not is_last and time.monotonic() < self._next_at):
            return
        began_at = time.monotonic()
        try:
            self._copy(source)
            self._copied = found
        except (UnreadableDatabase, OSError) as error:
            # While the program creates its tables, and while it writes, this is to be expected.
            if is_last:
                self._warn(f'its database could not be copied to {NAME} in the output directory: {error}')
        finally:
            self._part.unlink(missing_ok=True)
        seconds = time.monotonic() - began_at
        self._next_at = began_at + max(COPY_SECONDS_MIN, seconds / COPY_FRACTION_MAX)

    def _copy(self, source: Path) -> None:
        check_space(source.stat().st_size, self._part.parent)
        with open_read_only(source, COPY_SECONDS_MAX) as connection:
            copy_database(connection, self._part, COPY_SECONDS_MAX)
        update(self._part, _relative_locations(), COPY_SECONDS_MAX)
        with open_folder(self._output, ()) as folder:
            os.replace(self._part, NAME, dst_dir_fd=folder)

    def _stamp_of(self, name: str) -> Optional[Tuple[int, int, int]]:
        try:
            found = os.lstat(f'{self._database}{name}')
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _warn(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._log(f'MLflow: {problem}', 'WARNING')


def _relative_locations() -> Iterator[str]:
    """The copy's artifacts are beside it, in the job directory and wherever it is copied."""
    for table, column in LOCATIONS:
        at = f"instr({column}, '/{ARTIFACTS}/')"
        yield f"UPDATE {table} SET {column} = substr({column}, {at} + 1) WHERE {at} > 0 AND instr({column}, ':') = 0"
