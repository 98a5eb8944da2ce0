"""Resource usage of the VM, as heartbeats report it; None for what the system does not provide."""

import errno
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from vm_agent.program.gpu_meter import GpuMeter, GpuUsage

SECTOR_BYTES = 512
DU_SECONDS_MAX = 120.0


@dataclass(frozen=True)
class Usage:
    """The `usage` of a heartbeat."""

    cpu_fraction: Optional[float] = None
    memory_bytes: Optional[int] = None
    memory_bytes_max: Optional[int] = None
    disk_bytes: Optional[int] = None
    disk_bytes_max: Optional[int] = None
    gpus: Tuple[GpuUsage, ...] = ()

    def to_json(self) -> Dict[str, Any]:
        return {
            'cpuFraction': self.cpu_fraction,
            'memoryBytes': self.memory_bytes,
            'memoryBytesMax': self.memory_bytes_max,
            'diskBytes': self.disk_bytes,
            'diskBytesMax': self.disk_bytes_max,
            'gpus': [gpu.to_json() for gpu in self.gpus],
        }


@dataclass(frozen=True)
class CpuTimes:
    """Jiffies since boot, of all cores."""

    busy: int
    total: int


class UsageMeter:
    """Measures the CPU over the time since the last call."""

    def __init__(self, disk: 'DiskMeter', disk_bytes_max: int, gpus: GpuMeter) -> None:
        self._disk = disk
        self._disk_bytes_max = disk_bytes_max
        self._gpus = gpus
        self._last_cpu = read_cpu_times()

    def measure(self) -> Usage:
        cpu = read_cpu_times()
        memory = read_memory()
        fraction = cpu_fraction(self._last_cpu, cpu)
        self._last_cpu = cpu
        return Usage(
            cpu_fraction=fraction,
            memory_bytes=memory[0] if memory else None,
            memory_bytes_max=memory[1] if memory else None,
            disk_bytes=self._disk.used_bytes,
            disk_bytes_max=self._disk_bytes_max,
            gpus=self._gpus.latest(),
        )


class DiskMeter:
    """Measures the bytes below a folder continuously, with at most a tenth of one core."""

    def __init__(self, folder: Path, ignored: Path) -> None:
        """`ignored` is a folder in it that is not measured: the agent's own copies of what the program wrote."""
        self._folder = folder
        self._ignored = ignored
        self._others: List[Callable[[], int]] = []
        self.used_bytes = 0

    def add(self, measure: Callable[[], int]) -> None:
        """Counts what else the program writes, in bytes."""
        self._others.append(measure)

    def start(self) -> None:
        """Measures once before it returns."""
        self.used_bytes = self._measure()
        threading.Thread(target=self._run, name='disk-meter', daemon=True).start()

    def _run(self) -> None:
        while True:
            started_at = time.monotonic()
            self.used_bytes = self._measure()
            time.sleep(max(0.5, 10 * (time.monotonic() - started_at)))

    def _measure(self) -> int:
        return measure_tree(self._folder, self._ignored) + sum(measure() for measure in self._others)


def measure_tree(folder: Path, ignored: Path) -> int:
    """Returns the bytes that the files below a folder, except for one in it, occupy on the disk. Follows no links."""
    total, is_too_deep = 0, False
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        total += _measure_file(entry)
                    elif entry.path != str(ignored):
                        folders.append(entry.path)
        except OSError as error:
            # The folder was deleted in the meantime, or a program hides files where no path is short enough.
            is_too_deep = is_too_deep or error.errno == errno.ENAMETOOLONG
    return max(total, _measure_by_du(folder)) if is_too_deep else total


def _measure_file(entry: 'os.DirEntry[str]') -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * SECTOR_BYTES
    except FileNotFoundError:
        # Deleted in the meantime; the files after it still count.
        return 0


def _measure_by_du(folder: Path) -> int:
    """Unlike paths, `du` reaches any depth. It also counts what is ignored; 0 if it does not answer."""
    try:
        argv, pipe = ['du', '-sk', '--', str(folder)], subprocess.PIPE
        found = subprocess.run(argv, stdout=pipe, stderr=subprocess.DEVNULL, timeout=DU_SECONDS_MAX, check=False)
        return 1_024 * int(found.stdout.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return 0


def read_cpu_times() -> Optional[CpuTimes]:
    try:
        fields = [int(value) for value in Path('/proc/stat').read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return CpuTimes(busy=sum(fields) - fields[3] - fields[4], total=sum(fields))


def cpu_fraction(before: Optional[CpuTimes], after: Optional[CpuTimes]) -> Optional[float]:
    if before is None or after is None or after.total <= before.total:
        return None
    return round(min(1.0, max(0.0, (after.busy - before.busy) / (after.total - before.total))), 4)


def read_memory() -> Optional[Tuple[int, int]]:
    """Returns the bytes used and the bytes in total."""
    try:
        lines = Path('/proc/meminfo').read_text().splitlines()
        kibibytes = {line.split(':')[0]: int(line.split()[1]) for line in lines}
        return (kibibytes['MemTotal'] - kibibytes['MemAvailable']) * 1024, kibibytes['MemTotal'] * 1024
    except (OSError, ValueError, IndexError, KeyError):
        return None
