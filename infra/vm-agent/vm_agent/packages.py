"""Fetching the job's packages, exactly as they were checked when the job was submitted."""

from pathlib import Path
from typing import Sequence, Tuple

from vm_agent.config import Package
from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.retry import Patience
from vm_agent.storage import ContentDiffers, ObjectInfo, Storage, StorageRefused


def download_packages(
    storage: Storage, packages: Sequence[Package], folder: Path, patience: Patience
) -> Tuple[Path, ...]:
    """
    The packages' files, in order. Raises ReplicaEnded with PACKAGE_UNREADABLE where one was refused or differs, and
    PassingFault.
    """
    return tuple(
        # A folder for each: two packages may have files of one name, and pip reads the file name.
        _download(storage, package, folder / str(number) / package.file_name, patience)
        for number, package in enumerate(packages)
    )


def _download(storage: Storage, package: Package, target: Path, patience: Patience) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    expected = ObjectInfo(
        package.bucket, package.name, package.generation, package.size_bytes, package.crc32c, None, None
    )
    try:
        storage.download(expected, target, patience)
    except (StorageRefused, ContentDiffers) as error:
        raise ReplicaEnded(
            ExitReport(
                'PACKAGE_UNREADABLE',
                f'Package gs://{package.bucket}/{package.name} (generation {package.generation}) could not be read.',
                evidence=(str(error),),
            )
        ) from error
    return target
