"""The knowledge of the detectors about the machine at one moment."""

from dataclasses import dataclass
from typing import Optional, Tuple

from vm_agent.program.gpu_meter import GpuUsage


@dataclass(frozen=True)
class Reading:
    """None for what the machine does not provide."""

    at: float
    """By time.monotonic()."""
    cpu_fraction: Optional[float] = None
    """The used share of all cores."""
    cpu_count: int = 1
    memory_bytes: Optional[float] = None
    memory_bytes_max: Optional[float] = None
    disk_bytes: Optional[float] = None
    disk_bytes_max: Optional[float] = None
    disk_read_bytes_per_second: Optional[float] = None
    network_read_bytes_per_second: Optional[float] = None
    gpus: Tuple[GpuUsage, ...] = ()
