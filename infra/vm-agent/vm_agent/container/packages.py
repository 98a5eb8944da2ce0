"""The packages of a container: unpacked for its Python, not installed, since the image has what they require."""

from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence

from vm_agent.container.layout import open_to_all
from vm_agent.setup.packages import Archive


@dataclass(frozen=True)
class UnpackedPackages:
    import_roots: Sequence[Path]
    working_directory: Optional[Path]
    """The folder of the package that has the program; None if none has it."""


def unpack_packages(archives: Sequence[Archive], sources: Path, module: str) -> UnpackedPackages:
    """Raises ReplicaEnded with PACKAGE_UNREADABLE."""
    roots: List[Path] = []
    program: Optional[Path] = None
    for number, archive in enumerate(archives):
        folder = sources / str(number)
        layout = archive.unpack(folder, module, unpacks_wheels=True)
        roots += [folder / root for root in layout.import_roots if folder / root not in roots]
        if program is None and layout.program is not None:
            program = folder / (layout.working_directory or layout.root)
    if program is not None:
        # Before the program starts: a file that changes after that counts as the program's.
        open_to_all(program)
    return UnpackedPackages(roots, program)
