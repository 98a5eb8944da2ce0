"""Stable copies of the program's files, which cannot change during an upload."""

import errno
import fcntl
import os
import shutil
import time
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, Set

from vm_agent.storage.output.output_files import Stamp, stamp_of, to_stamp
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.read_lease import ReadLease, Writer, find_writer

# On the work disk; it does not count towards the job's limit.
STAGING_FOLDER = 'staging'
PIECE_BYTES = 1_048_576
# A larger file is linked, and verified after its upload, unless the program is known to rewrite it.
COPY_BYTES_MAX = PIECE_BYTES
TAIL_BYTES = 4_096
# Modification times advance with the kernel's tick, 1 to 10 ms: a second write within the same tick does not change
# them. A version that is older than this shows every later write.
TICK_SECONDS = 0.02
# For a writer. The kernel ends a lease by itself after 45 s (/proc/sys/fs/lease-break-time).
HELD_SECONDS_MAX = 10.0
# linux/fs.h: shares the blocks of another file, on file systems that copy on write.
FICLONE = 0x40049409


class Unstable(Enum):
    """Why no stable copy of a version could be made."""

    CHANGED = 'it changes while it is copied'
    OPEN = 'a process has it open for writing'


class UnstableFile(Exception):
    def __init__(self, reason: Unstable) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True)
class Wanted:
    """A version of a file to copy."""

    name: str
    stamp: Stamp
    is_log: bool = False
    """The program only appends to it, so that a part from its start is a complete earlier version."""
    allows_writer: bool = False
    """It may be copied although a process has it open for writing."""
    must_copy: bool = False
    """The program rewrites the file in place: a link to it would change, too."""


@dataclass(frozen=True)
class StagedFile:
    stamp: Stamp
    path: Path
    tail: int
    """A checksum of the last TAIL_BYTES."""
    is_link: bool
    """It shares the program's file, and must be verified after the upload."""

    def is_intact(self) -> bool:
        return not self.is_link or stamp_of(self.path) == self.stamp


class Staging:
    """A folder on the file system of the output directory, used by one thread."""

    def __init__(
        self, folder: Path, tree: OutputTree, free_bytes: Callable[[], int], held_seconds_max: float = HELD_SECONDS_MAX
    ) -> None:
        """`free_bytes` returns how many bytes may be written: beyond them, files are linked instead of copied."""
        self._folder = folder
        self._tree = tree
        self._free_bytes = free_bytes
        self._files: Dict[str, StagedFile] = {}
        self._count = 0
        self._can_clone = True
        self._held_seconds_max = held_seconds_max
        self._held_too_long: Set[str] = set()

    def clear(self) -> None:
        """Removes everything, as an earlier boot may have left it."""
        self._files = {}
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)

    def keep(self, names: Iterable[str]) -> None:
        """Removes all other files."""
        kept = set(names)
        for name in [name for name in self._files if name not in kept]:
            self.discard(name)

    def discard(self, name: str) -> None:
        staged = self._files.pop(name, None)
        if staged is not None:
            staged.path.unlink(missing_ok=True)

    def stage(self, wanted: Wanted) -> StagedFile:
        """Returns a stable copy of this version, if it is still current. Raises UnstableFile, or OSError."""
        staged = self._files.get(wanted.name)
        if staged is not None:
            if staged.stamp == wanted.stamp and staged.is_intact():
                self._check_source(wanted)
                return staged
            self.discard(wanted.name)
        with self._new_target() as target:
            staged = self._files[wanted.name] = self._create(wanted, target)
        return staged

    def stage_held(self, name: str, seconds: float) -> StagedFile:
        """
        Returns a copy of the current version of a file that a process rewrites in place without a pause. A moment at
        which no process has it open is awaited for so many seconds; from then on, a process that opens it for writing
        waits until it is copied, for at most HELD_SECONDS_MAX: once, if that is not enough. Raises UnstableFile, or
        OSError.
        """
        if name in self._held_too_long:
            raise UnstableFile(Unstable.OPEN)
        give_up_at = time.monotonic() + seconds
        while True:
            descriptor = os.open(self._tree.path(name), os.O_RDONLY | os.O_NONBLOCK)
            try:
                with ReadLease(descriptor) as lease:
                    if lease.writer is Writer.NONE:
                        return self._copy_held(name, descriptor)
            finally:
                os.close(descriptor)
            # Without a sleep: the moment is as short as that between a close and an open.
            if lease.writer is Writer.UNKNOWN or time.monotonic() > give_up_at:
                raise UnstableFile(Unstable.OPEN)

    def _copy_held(self, name: str, descriptor: int) -> StagedFile:
        self._check_place(descriptor, name, str(self._tree.path(name)))
        stamp = to_stamp(os.fstat(descriptor))
        if stamp.size_bytes > self._free_bytes():
            raise UnstableFile(Unstable.OPEN)
        self.discard(name)
        give_up_at = time.monotonic() + self._held_seconds_max
        with self._new_target() as target:
            with open(target, 'wb') as file:
                for position in range(0, stamp.size_bytes, PIECE_BYTES):
                    file.write(os.pread(descriptor, PIECE_BYTES, position))
                    if time.monotonic() > give_up_at:
                        self._held_too_long.add(name)
                        raise UnstableFile(Unstable.OPEN)
            if to_stamp(os.fstat(descriptor)) != stamp or target.stat().st_size != stamp.size_bytes:
                raise UnstableFile(Unstable.CHANGED)
            os.utime(target, ns=(stamp.mtime_ns, stamp.mtime_ns))
        self._files[name] = StagedFile(stamp, target, tail_of(target, stamp.size_bytes), is_link=False)
        return self._files[name]

    @contextmanager
    def _new_target(self) -> Iterator[Path]:
        """Yields the path of a new copy, which is removed if the block raises an exception."""
        self._count += 1
        target = self._folder / str(self._count)
        try:
            yield target
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def _check_source(self, wanted: Wanted) -> None:
        """Raises UnstableFile if the version of an existing copy is no longer current."""
        try:
            _check_version(os.stat(self._tree.path(wanted.name)), wanted)
        except FileNotFoundError as error:
            raise UnstableFile(Unstable.CHANGED) from error

    def _create(self, wanted: Wanted, target: Path) -> StagedFile:
        source = str(self._tree.path(wanted.name))
        try:
            # Without O_NONBLOCK, a named pipe in the file's place would block.
            descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError as error:
            raise UnstableFile(Unstable.CHANGED) from error
        try:
            _check_version(os.fstat(descriptor), wanted)
            self._check_place(descriptor, wanted.name, source)
            is_link = self._must_link(wanted) and not self._clone(descriptor, target, wanted)
            must_copy = not is_link and not self._tree.allows_links(wanted.name)
            if must_copy and wanted.stamp.size_bytes > self._free_bytes():
                raise OSError(errno.ENOSPC, 'The disk has no space for a copy of it')
            if is_link:
                _check_writer(descriptor, wanted)
                os.link(os.path.realpath(source), target)
                _await_tick(wanted)
            elif not target.exists():
                _copy(descriptor, target, wanted)
            _check_version(os.fstat(descriptor), wanted)
            if not is_link:
                # The upload records it for the restore.
                os.utime(target, ns=(wanted.stamp.mtime_ns, wanted.stamp.mtime_ns))
        finally:
            os.close(descriptor)
        staged = StagedFile(wanted.stamp, target, tail_of(target, wanted.stamp.size_bytes), is_link)
        if not staged.is_intact():
            raise UnstableFile(Unstable.CHANGED)
        return staged

    def _check_place(self, descriptor: int, name: str, source: str) -> None:
        """Raises UnstableFile if a link leads out of its directory: it came after the file was found."""
        place = f'/proc/self/fd/{descriptor}'
        found = os.readlink(place) if os.path.islink(place) else os.path.realpath(source)
        if not self._tree.is_inside(found, name):
            raise UnstableFile(Unstable.CHANGED)

    def _must_link(self, wanted: Wanted) -> bool:
        size_bytes = wanted.stamp.size_bytes
        is_small = size_bytes <= COPY_BYTES_MAX
        is_linked = size_bytes > self._free_bytes() or not (is_small or wanted.must_copy)
        return is_linked and not wanted.is_log and self._tree.allows_links(wanted.name)

    def _clone(self, descriptor: int, target: Path, wanted: Wanted) -> bool:
        """Shares the file's blocks, at no cost; returns False if the file system cannot."""
        if not self._can_clone:
            return False
        _check_writer(descriptor, wanted)
        with open(target, 'wb') as file:
            try:
                fcntl.ioctl(file.fileno(), FICLONE, descriptor)
                return True
            except OSError:
                self._can_clone = False
        target.unlink()
        return False


def _check_version(result: os.stat_result, wanted: Wanted) -> None:
    found, expected = to_stamp(result), wanted.stamp
    has_grown = found.inode == expected.inode and found.size_bytes >= expected.size_bytes
    if found != expected and not (wanted.is_log and has_grown):
        raise UnstableFile(Unstable.CHANGED)


def _check_writer(descriptor: int, wanted: Wanted) -> None:
    if not wanted.allows_writer and find_writer(descriptor) is Writer.OPEN:
        raise UnstableFile(Unstable.OPEN)


def _is_young(wanted: Wanted) -> bool:
    return abs(time.time_ns() - wanted.stamp.mtime_ns) < TICK_SECONDS * 1e9


def _await_tick(wanted: Wanted) -> None:
    """Waits until a write would change the modification time."""
    if _is_young(wanted) and not wanted.is_log:
        time.sleep(TICK_SECONDS)


def _copy(descriptor: int, target: Path, wanted: Wanted) -> None:
    with ReadLease(descriptor) as lease:
        if lease.writer is Writer.OPEN and not wanted.allows_writer:
            raise UnstableFile(Unstable.OPEN)
        is_guarded = _is_young(wanted) and not wanted.is_log and lease.is_held
        if not is_guarded:
            lease.release()
            _await_tick(wanted)
            _check_version(os.fstat(descriptor), wanted)
        position, end = 0, wanted.stamp.size_bytes
        with open(target, 'wb') as file:
            while position < end:
                piece = os.pread(descriptor, min(PIECE_BYTES, end - position), position)
                # A writer waits for the lease: no longer than one piece takes.
                if not piece or (is_guarded and not lease.is_held):
                    raise UnstableFile(Unstable.CHANGED)
                file.write(piece)
                position += len(piece)
        if is_guarded and not lease.is_held:
            raise UnstableFile(Unstable.CHANGED)


def tail_of(path: Path, size_bytes: int) -> int:
    """Returns a checksum of the TAIL_BYTES before this size."""
    with open(path, 'rb') as file:
        file.seek(max(0, size_bytes - TAIL_BYTES))
        return zlib.crc32(file.read(min(size_bytes, TAIL_BYTES)))
