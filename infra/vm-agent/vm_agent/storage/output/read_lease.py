"""Read leases (fcntl(2), F_SETLEASE): the kernel's statement that no process has a file open for writing."""

import fcntl
import signal
from enum import Enum
from types import TracebackType
from typing import Optional, Type

# Not on every platform, and not on every file system.
_IS_SUPPORTED = hasattr(fcntl, 'F_SETLEASE')


class Writer(Enum):
    """Whether a process has the file open for writing, or mapped it so."""

    NONE = 'none'
    OPEN = 'open'
    UNKNOWN = 'unknown'
    """The platform or the file system has no leases, or the file belongs to another user."""


class ReadLease:
    """
    A lease on an open file, for the time of a `with` block. While it is held, a process that opens the file for writing
    waits, so that the block must be short or check `is_held`.
    """

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is open for reading only."""
        self._descriptor = descriptor
        self.writer = Writer.UNKNOWN

    def __enter__(self) -> 'ReadLease':
        if not _IS_SUPPORTED:
            return self
        try:
            # The kernel signals a writer that waits; SIGIO would end this process, SIGURG is ignored.
            fcntl.fcntl(self._descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(self._descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            self.writer = Writer.NONE
        except BlockingIOError:
            self.writer = Writer.OPEN
        except OSError:
            self.writer = Writer.UNKNOWN
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.release()

    @property
    def is_held(self) -> bool:
        """False if there never was a lease, or as soon as a writer waits for the file."""
        if self.writer is not Writer.NONE:
            return False
        return fcntl.fcntl(self._descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK

    def release(self) -> None:
        if self.writer is Writer.NONE:
            fcntl.fcntl(self._descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            self.writer = Writer.UNKNOWN


def find_writer(descriptor: int) -> Writer:
    """Returns whether a process has the file, which is open here for reading only, open for writing at this moment."""
    with ReadLease(descriptor) as lease:
        return lease.writer
