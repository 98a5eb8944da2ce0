"""The memory that the VM allows its programs, and how often the kernel killed a process because it ran out."""

import os
from pathlib import Path
from typing import List, Optional, Tuple

# A line has the number of the hierarchy, its controllers and the path of the group below its mount: `0::/path` with
# version 2, and `N:memory:/path` (docs.kernel.org/admin-guide/cgroup-v2.html).
GROUPS = Path('/proc/self/cgroup')
MOUNT = Path('/sys/fs/cgroup')
# The folder below the mount and the file of the limit, by the controllers of a line.
LIMITS = {'': ('', 'memory.max'), 'memory': ('memory', 'memory.limit_in_bytes')}
MACHINE_COUNTERS = Path('/proc/vmstat')


def machine_memory_bytes() -> int:
    return os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')


def memory_limit_bytes() -> Optional[int]:
    """
    Returns the lowest limit of the control groups of this process; None if all of the machine's memory is allowed.
    """
    limits = []
    for controllers, path in _read_groups():
        if controllers in LIMITS:
            folder, name = LIMITS[controllers]
            group = MOUNT / folder / path
            limits += [_read(parent / name) for parent in (group, *group.parents) if MOUNT in (parent, *parent.parents)]
    known = [limit for limit in limits if limit is not None and limit < machine_memory_bytes()]
    return min(known, default=None)


def count_memory_kills() -> int:
    """Returns the number of OOM kills in this control group, or on the machine if the group's cannot be read."""
    path = next((path for controllers, path in _read_groups() if controllers == ''), '')
    own = _read_kills(MOUNT / path / 'memory.events')
    return count_machine_memory_kills() if own is None else own


def count_machine_memory_kills() -> int:
    """Returns the number of OOM kills on this machine, those of control groups included; 0 if it cannot be read."""
    return _read_kills(MACHINE_COUNTERS) or 0


def _read_groups() -> List[Tuple[str, str]]:
    """Returns controllers and path of the control groups of this process; none on another system than Linux."""
    try:
        lines = [line.split(':', 2) for line in GROUPS.read_text().splitlines()]
    except OSError:
        return []
    return [(line[1], line[2].lstrip('/')) for line in lines if len(line) == 3]


def _read(path: Path) -> Optional[int]:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        # There is no such group here, or its limit is `max`.
        return None


def _read_kills(path: Path) -> Optional[int]:
    try:
        counts = dict(line.split() for line in path.read_text().splitlines())
        return int(counts['oom_kill'])
    except (OSError, ValueError, KeyError):
        return None
