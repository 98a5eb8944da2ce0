"""The bytes that the VM's disks and network have transferred, from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

DISK_STATS = Path('/proc/diskstats')
BLOCK_DEVICES = Path('/sys/block')
NETWORK_STATS = Path('/proc/net/dev')
# Devices on top of others, whose bytes would be counted twice, and memory.
VIRTUAL_DISKS = ('loop', 'ram', 'zram', 'dm-', 'md')
SECTOR_BYTES = 512
LOOPBACK = 'lo'


@dataclass(frozen=True)
class Counters:
    """Bytes since the boot. None for what the system does not provide."""

    disk_read: Optional[int] = None
    disk_written: Optional[int] = None
    network_received: Optional[int] = None
    network_sent: Optional[int] = None


def read_counters() -> Counters:
    return Counters(*_read_disks(), *_read_network())


def rates_between(before: Counters, after: Counters, seconds: float) -> Dict[str, float]:
    """Returns the bytes per second of each counter that both have, by field; none for one that was reset."""
    rates = {}
    for name, total in vars(after).items():
        earlier = getattr(before, name)
        if total is not None and earlier is not None and total >= earlier and seconds > 0:
            rates[name] = (total - earlier) / seconds
    return rates


def _read_disks() -> Tuple[Optional[int], Optional[int]]:
    """kernel.org/doc/Documentation/iostats.txt; partitions are left out, as their disk has their bytes."""
    rows = [
        (int(fields[5]), int(fields[9]))
        for fields in _rows(DISK_STATS)
        if len(fields) > 9 and fields[5].isdecimal() and fields[9].isdecimal() and _is_disk(fields[2])
    ]
    if not rows:
        return None, None
    return sum(row[0] for row in rows) * SECTOR_BYTES, sum(row[1] for row in rows) * SECTOR_BYTES


def _is_disk(name: str) -> bool:
    return not name.startswith(VIRTUAL_DISKS) and os.path.isdir(BLOCK_DEVICES / name)


def _read_network() -> Tuple[Optional[int], Optional[int]]:
    # The first two lines are a heading; a counter may follow the colon without a space.
    rows = [[name, *rest] for name, *rest in _rows(NETWORK_STATS, ':') if len(rest) >= 9 and name != LOOPBACK]
    numbers = [(int(row[1]), int(row[9])) for row in rows if row[1].isdecimal() and row[9].isdecimal()]
    if not numbers:
        return None, None
    return sum(row[0] for row in numbers), sum(row[1] for row in numbers)


def _rows(path: Path, separator: str = ' ') -> Iterator[List[str]]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        yield line.replace(separator, ' ').split()
