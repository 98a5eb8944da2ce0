"""The packages of a container: unpacked for its Python, not installed, since the image has what they require."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence

from vm_agent.container.layout import open_to_all
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.package_layout import decide_layout
from vm_agent.setup.source_tree import InvalidArchive, unpack


@dataclass(frozen=True)
class UnpackedPackages:
    import_roots: Sequence[Path]
    working_directory: Optional[Path]
    """The folder of the package that has the program; None if none has it."""


def module_of(argv: Sequence[str]) -> str:
    """Returns the module that a command line runs with Python; empty if it runs something else."""
    return argv[2] if len(argv) > 2 and argv[1] == '-m' else ''


def unpack_packages(archives: Sequence[Path], sources: Path, module: str) -> UnpackedPackages:
    """Raises ReplicaEnded with PACKAGE_UNREADABLE."""
    roots: List[Path] = []
    program: Optional[Path] = None
    for number, archive in enumerate(archives):
        folder = sources / str(number)
        try:
            layout = decide_layout(unpack(archive, folder), module)
            if layout.style == 'WHEEL':
                with zipfile.ZipFile(archive) as wheel:
                    wheel.extractall(folder)
        except (InvalidArchive, OSError, zipfile.BadZipFile) as error:
            message = f'Package {archive.name} could not be unpacked: {error}.'
            raise ReplicaEnded(ExitReport('PACKAGE_UNREADABLE', message, evidence=(str(error),))) from error
        found = [folder] if layout.style == 'WHEEL' else [folder / root for root in layout.import_roots]
        roots += [root for root in found if root not in roots]
        if program is None and module and layout.program is not None:
            program = folder / (layout.working_directory or layout.root)
    if program is not None:
        # Before the program starts: a file that changes after that counts as the program's.
        open_to_all(program)
    return UnpackedPackages(roots, program)
