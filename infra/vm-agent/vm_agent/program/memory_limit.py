"""The memory that the VM allows its programs."""

import os
from pathlib import Path
from typing import Optional

GROUPS = Path('/proc/self/cgroup')
MOUNT = Path('/sys/fs/cgroup')
# The file of the limit by the line of /proc/self/cgroup: `0::/path` and `N:memory:/path`.
FILES = {'': ('', 'memory.max'), 'memory': ('memory', 'memory.limit_in_bytes')}


def machine_memory_bytes() -> int:
    return os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')


def memory_limit_bytes() -> Optional[int]:
    """Returns the lowest limit of the control groups of this process; None if all of the machine's memory is allowed."""
    try:
        lines = GROUPS.read_text().splitlines()
    except OSError:
        return None
    limits = []
    for _, controllers, path in (line.split(':', 2) for line in lines if line.count(':') >= 2):
        if controllers in FILES:
            folder, name = FILES[controllers]
            group = MOUNT / folder / path.lstrip('/')
            limits += [_read(parent / name) for parent in (group, *group.parents) if MOUNT in (parent, *parent.parents)]
    known = [limit for limit in limits if limit is not None and limit < machine_memory_bytes()]
    return min(known, default=None)


def _read(path: Path) -> Optional[int]:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        # There is no such group here, or its limit is `max`.
        return None
