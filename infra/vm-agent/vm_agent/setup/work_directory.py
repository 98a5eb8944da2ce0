"""The program's working directory: links to its output, and to files beside a script."""

import os
import shutil
from pathlib import Path

from vm_agent.program.exit_report import ExitReport, ReplicaEnded

NOT_LINKED = ('__init__.py', '__pycache__')


def create_job_dir_link(folder: Path, job_dir: str, output: Path) -> None:
    """
    Makes the relative path `gs://bucket/path` a link to the local output directory: a program that opens its job
    directory as a file path writes files that the agent uploads. Replaces what a package may have at that path.
    """
    parts = [part for part in job_dir[len('gs://') :].split('/') if part]
    link = folder.joinpath('gs:', *parts)
    for path in [*reversed(link.parents), link][len(folder.parts) :]:
        if path.is_symlink() or path.is_file():
            path.unlink()
    if link.is_dir():
        shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(output, target_is_directory=True)


def link_neighbors(script: Path, folder: Path) -> None:
    """
    Links the files beside a script in a subdirectory into the working directory, unless it has files of the same
    names: such a script runs as well from its own directory, where it finds them by relative paths.
    """
    if script.parent == folder:
        return
    for path in sorted(script.parent.iterdir()):
        link = folder / path.name
        if path.name not in NOT_LINKED and not os.path.lexists(link):
            link.symlink_to(path)


def find_workdir(package: Path, workdir: str) -> Path:
    """Returns the folder of a package in which its program is to run. Raises ReplicaEnded if the package has none."""
    folder = package / workdir.strip('/')
    if not folder.is_dir():
        message = f'The package has no folder {workdir}, in which the program is to run (workdir).'
        raise ReplicaEnded(ExitReport('EXITED', message, exit_code=127))
    return folder
