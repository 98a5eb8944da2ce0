"""
How much disk an image takes. A layer may unpack to a thousand times its compressed size, which nothing announces: what
cannot fit is rejected before it is pulled, and what took too much is deleted after.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Tuple

from vm_agent.container.engine import Engine
from vm_agent.container.spec import ContainerSpec
from vm_agent.program.exit_report import ExitReport, ReplicaEnded

GIB = 1 << 30
# Stays free for the other programs of the machine, and for what ends the attempt.
RESERVE_BYTES_MAX = GIB
RESERVE_FRACTION_MAX = 0.05


@dataclass(frozen=True)
class DiskAllowance:
    bytes_left: Callable[[], int]
    """The bytes that the job may still write to the disk."""
    remedy: str
    """How the job is allowed more, as a sentence."""
    is_own_disk: bool
    """Whether the VM has the disk for itself, so that a larger one helps."""


@dataclass(frozen=True)
class Disk:
    free_bytes: int
    size_bytes: int

    @property
    def reserve_bytes(self) -> int:
        return min(RESERVE_BYTES_MAX, int(RESERVE_FRACTION_MAX * self.size_bytes))


class PullSpace:
    """From the beginning of a pull. Without access to the file system of the engine's storage, nothing is checked."""

    def __init__(self, engine: Engine, spec: ContainerSpec, allowance: DiskAllowance) -> None:
        self._engine, self._spec, self._allowance = engine, spec, allowance
        # It may be in a virtual machine of the engine's.
        shown = engine.run_tool(['info', '--format', '{{.DockerRootDir}}']).stdout.strip()
        self._storage = Path(shown or '/nonexistent')
        self._before = read_disk(self._storage)

    def check_before(self) -> None:
        """Raises ReplicaEnded with DISK_TOO_SMALL if the image cannot fit where the engine keeps its images."""
        if self._before is None:
            return
        # Layers of other images may be layers of this one, too.
        has_images = bool(self._engine.run_tool(['image', 'ls', '--quiet']).stdout.strip())
        report = compare_space(self._spec, self._before, self._allowance, has_images)
        if report is not None:
            raise ReplicaEnded(report)

    def check_after(self) -> None:
        """Deletes an image that took more than the job or the machine has, and raises ReplicaEnded."""
        now = read_disk(self._storage)
        if self._before is None or now is None:
            return
        image = ['image', 'inspect', '--format', '{{.Size}}', self._spec.image]
        unpacked = self._engine.run_tool(image).stdout.strip()
        size_bytes = int(unpacked) if unpacked.isdigit() else 0
        excess = find_excess(self._spec, (self._before, now), size_bytes, self._allowance)
        if excess is not None:
            self._engine.run_tool(['image', 'rm', self._spec.image])
            raise ReplicaEnded(ExitReport('DISK_TOO_SMALL', excess))


def compare_space(spec: ContainerSpec, disk: Disk, allowance: DiskAllowance, has_images: bool) -> Optional[ExitReport]:
    needed_bytes = spec.size_bytes if has_images else spec.disk_bytes_min
    if disk.free_bytes >= needed_bytes:
        return None
    missing_bytes = spec.disk_bytes_estimate - disk.free_bytes
    if allowance.is_own_disk:
        remedy = f'Request a boot disk of {_to_gib(disk.size_bytes + missing_bytes)} GiB (bootDiskSizeGb)'
    else:
        remedy = f'Free {_to_gib(missing_bytes)} GiB on the disk of this machine'
    message = (
        f'The image {spec.image} needs {format_bytes(needed_bytes)} of disk, and {format_bytes(disk.free_bytes)} are '
        f'free. {remedy}, or use a smaller image.'
    )
    return ExitReport('DISK_TOO_SMALL', message)


def find_excess(
    spec: ContainerSpec, disks: Tuple[Disk, Disk], size_bytes: int, allowance: DiskAllowance
) -> Optional[str]:
    """
    Returns why an image cannot stay, with what to do about it, or None. `disks` are those before and after the pull,
    `size_bytes` is that of all of its layers unpacked: other programs use the disk, and other images share layers.
    """
    before, now = disks
    taken_bytes = min(before.free_bytes - now.free_bytes, size_bytes)
    bytes_left = max(0, allowance.bytes_left())
    compressed = f'its layers are {format_bytes(spec.size_bytes)} compressed'
    if taken_bytes > bytes_left:
        return (
            f'The image {spec.image} takes more than {format_bytes(bytes_left)} of disk unpacked, which is what the '
            f'job may still use; {compressed}. {allowance.remedy} Or use a smaller image.'
        )
    short_bytes = now.reserve_bytes - now.free_bytes
    if short_bytes > 0 and taken_bytes >= short_bytes:
        remedy = allowance.remedy if allowance.is_own_disk else 'Free space on the disk of this machine.'
        return (
            f'The image {spec.image} fills the disk: {format_bytes(before.free_bytes)} were free before it was '
            f'pulled, and {format_bytes(now.free_bytes)} after; {compressed}. {remedy} Or use a smaller image.'
        )
    return None


def read_disk(folder: Path) -> Optional[Disk]:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return Disk(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize)


def format_bytes(count: int) -> str:
    return f'{count / 2**30:.1f} GiB' if count >= 2**30 else f'{count / 2**20:.1f} MiB'


def _to_gib(count: int) -> int:
    return -(-count // GIB) + 1
