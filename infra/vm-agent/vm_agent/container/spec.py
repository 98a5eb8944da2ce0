"""The container that a VM runs instead of a Python module."""

from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass(frozen=True)
class ContainerSpec:
    """The image that intake found in the registry, and the job's command line."""

    image: str
    """`host/repository@sha256:...`, for the platform of this VM."""
    size_bytes: int
    """The size of the download: all layers, compressed."""
    disk_bytes_min: int
    """The space that the image takes of a disk that has no other images."""
    disk_bytes_estimate: int
    argv: Tuple[str, ...]
    """The whole command line; `--job-dir` may be appended."""
    user: str
    """The image's user, by name or id; empty for root."""
    working_directory: str
    """The image's; empty for `/`."""
    credentials: str
    """How the registry knows this VM: NONE, GOOGLE (the service account's token) or SECRET."""
    credentials_secret: Optional[str]
    """With SECRET, `projects/P/secrets/S/versions/V`, whose payload is `user:password`."""
