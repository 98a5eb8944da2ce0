"""
How much disk an image takes while it is pulled. A layer may unpack to a thousand times its compressed size, which
nothing announces.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Set

from vm_agent.container.engine import Engine
from vm_agent.container.spec import ContainerSpec
from vm_agent.container.transfer import format_bytes
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.usage import measure_tree

# What any image takes: its layers compressed, and unpacked to at least the same size. As in
# shared/use-cases/intake/check-image.ts.
NEEDED_FACTOR = 2
# The estimate for a disk to request: most layers unpack to twice their size.
ESTIMATED_FACTOR = 3
GIB = 1 << 30
# Stays free for the other programs of the machine, and for what ends the attempt.
RESERVE_BYTES_MAX = GIB
RESERVE_FRACTION_MAX = 0.05
STORAGE_FIELDS = {'docker': '{{.DockerRootDir}}', 'podman': '{{.Store.GraphRoot}}'}
# Below the engine's storage: a folder for each layer.
LAYER_FOLDERS = ('overlay2', 'overlay', 'vfs/dir')
# Of the time that a measurement took.
MEASURE_PAUSE_FACTOR = 10.0


@dataclass(frozen=True)
class DiskAllowance:
    bytes_left: Callable[[], int]
    """What the job may still write to the disk."""
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
    """From the beginning of a pull. Without access to the engine's storage, only free space is watched, or nothing."""

    def __init__(self, storage: Path, spec: ContainerSpec, allowance: DiskAllowance) -> None:
        self._storage, self._spec, self._allowance = storage, spec, allowance
        self._before = read_disk(storage)
        self._layers_before = self._list_layers()
        self._measured_bytes: Optional[int] = None
        self._measure_at = 0.0

    def find_excess(self) -> Optional[str]:
        """Returns why the pull has to end, with what to do about it, or None."""
        before, now = self._before, read_disk(self._storage)
        if before is None or now is None:
            return None
        taken_bytes, bytes_left = before.free_bytes - now.free_bytes, max(0, self._allowance.bytes_left())
        if taken_bytes <= bytes_left and now.free_bytes >= now.reserve_bytes:
            return None
        # Other programs use the disk, too.
        own_bytes = self._measure()
        compressed = f'its layers are {format_bytes(self._spec.size_bytes)} compressed'
        if own_bytes is not None and own_bytes > bytes_left:
            return (
                f'The image {self._spec.image} takes more than {format_bytes(bytes_left)} of disk unpacked, which is '
                f'what the job may still use; {compressed}. {self._allowance.remedy} Or use a smaller image.'
            )
        short_bytes = now.reserve_bytes - now.free_bytes
        if short_bytes > 0 and (taken_bytes if own_bytes is None else own_bytes) >= short_bytes:
            return (
                f'The image {self._spec.image} was filling the disk: {format_bytes(before.free_bytes)} were free before '
                f'it was unpacked, and {format_bytes(now.free_bytes)} when the pull was stopped; {compressed}. '
                f'{self._free_remedy} Or use a smaller image.'
            )
        return None

    @property
    def _free_remedy(self) -> str:
        return self._allowance.remedy if self._allowance.is_own_disk else 'Free space on the disk of this machine.'

    def _measure(self) -> Optional[int]:
        """Returns the bytes of the layers that are new; None if they cannot be read."""
        if time.monotonic() < self._measure_at:
            return self._measured_bytes
        started_at = time.monotonic()
        layers = [layer for layer in self._list_layers() - self._layers_before if not _is_of_container(layer)]
        can_read = bool(self._layers_before or layers)
        self._measured_bytes = sum(measure_tree(layer, layer / 'merged') for layer in layers) if can_read else None
        ended_at = time.monotonic()
        self._measure_at = ended_at + MEASURE_PAUSE_FACTOR * (ended_at - started_at)
        return self._measured_bytes

    def _list_layers(self) -> Set[Path]:
        found: Set[Path] = set()
        for name in LAYER_FOLDERS:
            try:
                found.update((self._storage / name).iterdir())
            except OSError:
                # Another storage driver, or the storage of another user.
                continue
        return found


def find_storage(engine: Engine) -> Path:
    """Returns where the engine keeps its images; it may be in a virtual machine of the engine's."""
    return Path(engine.run_tool(['info', '--format', STORAGE_FIELDS[engine.kind]]).stdout.strip() or '/nonexistent')


def check_space(engine: Engine, storage: Path, spec: ContainerSpec, allowance: DiskAllowance) -> None:
    """Raises ReplicaEnded with DISK_TOO_SMALL if the image cannot fit where the engine keeps its images."""
    disk = read_disk(storage)
    if disk is None:
        return
    # Layers of other images may be layers of this one, too.
    has_images = bool(engine.run_tool(['image', 'ls', '--quiet']).stdout.strip())
    report = compare_space(spec, disk, allowance, has_images)
    if report is not None:
        raise ReplicaEnded(report)


def compare_space(spec: ContainerSpec, disk: Disk, allowance: DiskAllowance, has_images: bool) -> Optional[ExitReport]:
    needed_bytes = spec.size_bytes * (1 if has_images else NEEDED_FACTOR)
    if disk.free_bytes >= needed_bytes:
        return None
    missing_bytes = ESTIMATED_FACTOR * spec.size_bytes - disk.free_bytes
    if allowance.is_own_disk:
        remedy = f'Request a boot disk of {_to_gib(disk.size_bytes + missing_bytes)} GiB (bootDiskSizeGb)'
    else:
        remedy = f'Free {_to_gib(missing_bytes)} GiB on the disk of this machine'
    message = (
        f'The image {spec.image} needs {format_bytes(needed_bytes)} of disk, and {format_bytes(disk.free_bytes)} are '
        f'free. {remedy}, or use a smaller image.'
    )
    return ExitReport('DISK_TOO_SMALL', message)


def read_disk(folder: Path) -> Optional[Disk]:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return Disk(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize)


def _is_of_container(layer: Path) -> bool:
    """Whether it is what a container writes, not a layer of an image."""
    return os.path.ismount(layer / 'merged')


def _to_gib(count: int) -> int:
    return -(-count // GIB) + 1
