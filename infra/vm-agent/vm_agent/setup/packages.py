"""Downloads the job's packages exactly as they were validated when the job was submitted."""

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence, Tuple

from vm_agent.http.retry import RetryPolicy
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.package_layout import PackageLayout, layout_of_earlier_job
from vm_agent.setup.source_tree import InvalidArchive, unpack
from vm_agent.storage.transfer.client import ObjectInfo, Storage, StorageRejected, split_gs_uri
from vm_agent.storage.transfer.download import ContentMismatch, download_file


@dataclass(frozen=True)
class Package:
    """One generation of an object, with the checksum that it had when it was validated."""

    uri: str
    generation: str
    crc32c: str
    size_bytes: int
    layout: Optional[PackageLayout]
    """None for a job that v0.1.0 accepted."""

    @property
    def file_name(self) -> str:
        return self.uri.rsplit('/', 1)[-1]


@dataclass(frozen=True)
class Archive:
    """A package on the disk of the VM."""

    path: Path
    layout: Optional[PackageLayout]

    def unpack(self, folder: Path, module: str, unpacks_wheels: bool = False) -> PackageLayout:
        """Returns the layout for the program's module or script. Raises ReplicaEnded with PACKAGE_UNREADABLE."""
        try:
            unpack(self.path, folder, unpacks_wheels)
        except InvalidArchive as error:
            message = f'Package {self.path.name} could not be unpacked: {error}.'
            raise ReplicaEnded(ExitReport('PACKAGE_UNREADABLE', message, evidence=(str(error),))) from error
        return self.layout or layout_of_earlier_job(self.path.name, folder, module)


def download_packages(
    storage: Storage, packages: Sequence[Package], folder: Path, policy: RetryPolicy
) -> Tuple[Archive, ...]:
    """
    Returns the packages in order. Raises ReplicaEnded with PACKAGE_UNREADABLE if one was rejected or differs
    from what was validated, and TransientError.
    """

    def download(numbered: Tuple[int, Package]) -> Archive:
        number, package = numbered
        # A folder each: two packages may have the same file name, which pip parses and must not be changed.
        target = folder / str(number) / package.file_name
        _download(storage, package, target, policy)
        return Archive(target, package.layout)

    return tuple(storage.transfers.map(download, enumerate(packages)))


def _download(storage: Storage, package: Package, target: Path, policy: RetryPolicy) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    bucket, name = split_gs_uri(package.uri)
    expected = ObjectInfo(bucket, name, package.generation, package.size_bytes, package.crc32c, None, None)
    try:
        download_file(storage, expected, target, policy)
    except (StorageRejected, ContentMismatch) as error:
        raise ReplicaEnded(
            ExitReport(
                'PACKAGE_UNREADABLE',
                f'Package {package.uri} (generation {package.generation}) '
                'could not be downloaded as it was validated.',
                evidence=(str(error),),
            )
        ) from error
