"""What the machine is doing: figures from /proc, null where the system has none."""

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

GPU_QUERY = ['nvidia-smi', '--query-gpu=name,utilization.gpu,memory.used,memory.total', '--format=csv,noheader,nounits']
GPU_SECONDS_MAX = 5.0
GPU_TRIES_MAX = 3
GPU_COUNT_MAX = 16
MEBIBYTE = 1_048_576
SECTOR_BYTES = 512


@dataclass(frozen=True)
class CpuTimes:
    busy: int
    total: int


class UsageMeter:
    """Measures over the time since it was last asked."""

    def __init__(self, disk: 'DiskMeter', disk_bytes_max: int) -> None:
        self._disk = disk
        self._disk_bytes_max = disk_bytes_max
        self._last_cpu = read_cpu_times()
        self._gpu_tries_left = GPU_TRIES_MAX

    def measure(self) -> Dict[str, Any]:
        """The `usage` of a heartbeat."""
        cpu = read_cpu_times()
        memory = read_memory()
        fraction = cpu_fraction(self._last_cpu, cpu)
        self._last_cpu = cpu
        return {
            'cpuFraction': fraction,
            'memoryBytes': memory[0] if memory else None,
            'memoryBytesMax': memory[1] if memory else None,
            'diskBytes': self._disk.used_bytes,
            'diskBytesMax': self._disk_bytes_max,
            'gpus': self._read_gpus(),
        }

    def _read_gpus(self) -> List[Dict[str, Any]]:
        if self._gpu_tries_left == 0:
            return []
        try:
            answer = subprocess.run(
                GPU_QUERY, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GPU_SECONDS_MAX, check=True
            )
        except OSError:
            self._gpu_tries_left = 0
            return []
        except subprocess.SubprocessError:
            # The first call wakes the driver and may be slow; one that hangs for good must not slow every heartbeat.
            self._gpu_tries_left -= 1
            return []
        return parse_gpus(answer.stdout)


class DiskMeter:
    """Keeps an eye on the bytes below a folder, spending at most a tenth of one core."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.used_bytes = 0

    def start(self) -> None:
        self.used_bytes = measure_tree(self._folder)
        threading.Thread(target=self._run, name='disk-meter', daemon=True).start()

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            self.used_bytes = measure_tree(self._folder)
            time.sleep(max(0.5, 10 * (time.monotonic() - began)))


def measure_tree(folder: Path) -> int:
    """Bytes that the files below a folder take on the disk; links are not followed."""
    total = 0
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * SECTOR_BYTES
        except OSError:
            # Whatever vanishes while it is looked at takes no space.
            continue
    return total


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
    """Bytes used and bytes there are."""
    try:
        lines = Path('/proc/meminfo').read_text().splitlines()
        kibibytes = {line.split(':')[0]: int(line.split()[1]) for line in lines}
        return (kibibytes['MemTotal'] - kibibytes['MemAvailable']) * 1024, kibibytes['MemTotal'] * 1024
    except (OSError, ValueError, IndexError, KeyError):
        return None


def parse_gpus(text: str) -> List[Dict[str, Any]]:
    """The lines of `nvidia-smi`; a figure that a card does not tell (`[N/A]`) counts as 0."""
    gpus = []
    for line in text.splitlines()[:GPU_COUNT_MAX]:
        fields = [field.strip() for field in line.split(',')]
        if len(fields) == 4:
            busy, used, total = (int(field) if field.isdecimal() else 0 for field in fields[1:])
            gpus.append(
                {
                    'name': fields[0][:100],
                    'busyFraction': min(1.0, busy / 100),
                    'memoryBytes': used * MEBIBYTE,
                    'memoryBytesMax': total * MEBIBYTE,
                }
            )
    return gpus
