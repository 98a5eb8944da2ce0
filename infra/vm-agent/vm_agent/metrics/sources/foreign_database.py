"""
SQLite databases that the program writes. They are only read where they are: an agent that wrote to them could block the
program, and a journal that a program has made up can name any file to be deleted.
"""

import os
import shutil
import stat
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

from vm_agent.program.foreign_files import open_below

if TYPE_CHECKING:
    import sqlite3

# Beside a database; the shared memory of its log is made again.
JOURNALS = ('-journal', '-wal')
# The lock of a writer lasts for a commit.
LOCK_SECONDS_MAX = 1.0
# Between two of these, a writer gets the lock: 64 MiB of 4 KiB each.
PAGES_PER_STEP = 16_384
STEP_PAUSE_SECONDS = 0.05
INSTRUCTIONS_PER_CHECK = 1_000
# The limit of SQLite's own memory. A single value of a gigabyte is larger.
HEAP_BYTES_MAX = 268_435_456
# Left on the disk for the program and the agent.
FREE_BYTES_MIN = 268_435_456
# sqlite.org/fileformat.html#the_rollback_journal: at the end of a journal that names another one, too.
JOURNAL_MAGIC = bytes.fromhex('d9d505f920a163d7')


class UnreadableDatabase(Exception):
    """The database is locked, half written, damaged or not there; a later try may succeed."""


@contextmanager
def open_read_only(database: Path, seconds_max: float) -> Iterator['sqlite3.Connection']:
    """
    Every statement is a transaction of its own. Raises UnreadableDatabase, also for whatever the caller does with the
    connection, and once `seconds_max` have passed.
    """
    _reject_special_files(database)
    with _opened(f'{database.as_uri()}?mode=ro', seconds_max) as connection:
        # SQLite follows links when it resolves a path, and none when it opens the file.
        (_, _, opened) = connection.execute('PRAGMA database_list').fetchone()
        if opened != os.path.join(os.path.realpath(database.parent), database.name):
            raise UnreadableDatabase('it is a link')
        yield connection


def check_space(size_bytes: int, folder: Path) -> None:
    """Raises UnreadableDatabase if a copy of this size does not fit on the disk of the folder."""
    free_bytes = shutil.disk_usage(folder).free
    if size_bytes > free_bytes - FREE_BYTES_MIN:
        raise UnreadableDatabase(f'it has {size_bytes} bytes, and the disk of the VM has {free_bytes} left')


def copy_database(source: 'sqlite3.Connection', target: Path, seconds_max: float) -> None:
    """Writes a consistent copy, in one file, while the program goes on. Raises UnreadableDatabase."""
    give_up_at = time.monotonic() + seconds_max

    def check(_status: int, _left: int, _total: int) -> None:
        if time.monotonic() > give_up_at:
            raise UnreadableDatabase(f'it could not be copied within {seconds_max:.0f} s, since it is written to')

    remove_database(target)
    with _opened(target.as_uri(), seconds_max) as copy:
        source.backup(copy, pages=PAGES_PER_STEP, progress=check, sleep=STEP_PAUSE_SECONDS)
        copy.execute('PRAGMA journal_mode = DELETE')


def update(database: Path, statements: Iterator[str], seconds_max: float) -> None:
    """Changes a copy; tables that it does not have are skipped. Raises UnreadableDatabase."""
    import sqlite3

    with _opened(database.as_uri(), seconds_max) as connection:
        for statement in statements:
            try:
                connection.execute(statement)
            except sqlite3.OperationalError as error:
                if 'no such' not in str(error):
                    raise


def recover(database: Path, folder: Path) -> Path:
    """
    Copies the database of a program that was killed in a transaction into the agent's folder, where the transaction is
    rolled back. The program has ended. Returns the copy, which the caller removes. Raises UnreadableDatabase, and
    OSError.
    """
    target = folder / f'recovered-{database.name}'
    remove_database(target)
    try:
        _copy_files(database, target)
        with _opened(target.as_uri(), LOCK_SECONDS_MAX) as connection:
            connection.execute('PRAGMA journal_mode = DELETE')
            connection.execute('SELECT count(*) FROM sqlite_master')
    except BaseException:
        remove_database(target)
        raise
    return target


def remove_database(database: Path) -> None:
    for name in (*JOURNALS, ''):
        database.with_name(database.name + name).unlink(missing_ok=True)


def _copy_files(database: Path, target: Path) -> None:
    for name in (*JOURNALS, ''):
        try:
            with open_below(database.parent, database.name + name) as file:
                size_bytes = os.fstat(file.fileno()).st_size
                file.seek(max(0, size_bytes - len(JOURNAL_MAGIC)))
                if name == '-journal' and file.read() == JOURNAL_MAGIC:
                    raise UnreadableDatabase('its journal names other files')
                # Sparse files take their whole size in the copy.
                check_space(size_bytes, target.parent)
                file.seek(0)
                with open(target.with_name(target.name + name), 'wb') as copy:
                    shutil.copyfileobj(file, copy)
        except FileNotFoundError:
            continue


@contextmanager
def _opened(uri: str, seconds_max: float) -> Iterator['sqlite3.Connection']:
    give_up_at = time.monotonic() + seconds_max
    try:
        # Some builds of Python lack it.
        import sqlite3
    except ImportError as error:
        raise UnreadableDatabase(str(error)) from error
    try:
        connection = sqlite3.connect(uri, LOCK_SECONDS_MAX, isolation_level=None, uri=True)
        with closing(connection):
            connection.text_factory = lambda text: text.decode('utf-8', 'replace')
            connection.set_progress_handler(lambda: time.monotonic() > give_up_at, INSTRUCTIONS_PER_CHECK)
            connection.execute('PRAGMA trusted_schema = OFF')
            connection.execute(f'PRAGMA hard_heap_limit = {HEAP_BYTES_MAX}')
            yield connection
    except (sqlite3.Error, MemoryError) as error:
        raise UnreadableDatabase(str(error) or 'it takes too much memory') from error


def _reject_special_files(database: Path) -> None:
    """A named pipe would block the agent."""
    for name in ('', *JOURNALS, '-shm'):
        try:
            mode = os.lstat(f'{database}{name}').st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UnreadableDatabase(str(error)) from error
        if not stat.S_ISREG(mode):
            raise UnreadableDatabase(f'{database.name}{name} is not a regular file')
