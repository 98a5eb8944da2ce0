"""How often the kernel killed a process because memory ran out."""

from pathlib import Path
from typing import Optional, Sequence

MACHINE_COUNTERS = Path('/proc/vmstat')


def count_memory_kills() -> int:
    """Returns the number of OOM kills in this control group, or on the machine if the group's cannot be read."""
    own = _read_kills(_memory_events())
    return count_machine_memory_kills() if own is None else own


def count_machine_memory_kills() -> int:
    """Returns the number of OOM kills on this machine, those of control groups included; 0 if it cannot be read."""
    return _read_kills(MACHINE_COUNTERS) or 0


def _read_kills(path: Path) -> Optional[int]:
    try:
        counts = dict(line.split() for line in path.read_text().splitlines())
        return int(counts['oom_kill'])
    except (OSError, ValueError, KeyError):
        return None


def _memory_events() -> Path:
    """The line `0::/path` names the group below the mount (docs.kernel.org/admin-guide/cgroup-v2.html)."""
    try:
        groups: Sequence[str] = Path('/proc/self/cgroup').read_text().splitlines()
    except OSError:
        groups = ()
    path = next((line[len('0::/') :] for line in groups if line.startswith('0::/')), '')
    return Path('/sys/fs/cgroup') / path / 'memory.events'
