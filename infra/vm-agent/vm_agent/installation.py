"""
Making the job's packages importable: what the image has comes first, an index is asked only for what is missing.

Measured where the default index is out of reach: pip left to itself spends 24 s on retries for the build requirements
of a package that needs nothing; the same package is installed here in well under a second.
"""

import shutil
import site
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Mapping, Sequence, Tuple

from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.package_index import Indexes, probe_indexes
from vm_agent.pip_output import find_error, find_missing
from vm_agent.source_tree import NotAnArchive, SourceTree, can_build, unpack

PIP_RETRIES = 2
PIP_TIMEOUT_SECONDS = 15


@dataclass(frozen=True)
class ToolEnd:
    exit_code: int
    lines: Tuple[str, ...]
    """The last lines that it printed."""


@dataclass(frozen=True)
class _Wanted:
    targets: Sequence[str]
    is_buildable: bool
    """Whether the image has what building them takes, so that it is worth a try without an index."""


RunTool = Callable[[Sequence[str]], ToolEnd]
"""Runs a command under the supervisor; raises ReplicaEnded when the VM is told to stop meanwhile."""


@dataclass(frozen=True)
class Workplace:
    """Where the installation lies on the work disk, and what pip is told."""

    venv: Path
    sources: Path
    environment: Mapping[str, str]

    @property
    def python(self) -> Path:
        return self.venv / 'bin' / 'python'


def install(archives: Sequence[Path], place: Workplace, run_tool: RunTool) -> Tuple[Path, ...]:
    """
    Installs the packages into a virtual environment that sees the image's packages. Answers the directories to put on
    PYTHONPATH, for trees that are imported from where they lie. Raises ReplicaEnded with INSTALL_FAILED, naming the
    requirement, or PACKAGE_UNREADABLE.
    """
    _make_venv(place.venv)
    targets: List[str] = []
    is_buildable = True
    roots: List[Path] = []
    for number, archive in enumerate(archives):
        if archive.suffix == '.whl':
            targets.append(str(archive))
            continue
        tree = _unpack(archive, place.sources / str(number))
        if tree.import_root is not None and not (tree.has_build_file and can_build(tree.root)):
            roots.append(tree.import_root)
            targets.extend(tree.requirements)
        else:
            targets.append(str(tree.root))
            is_buildable = is_buildable and can_build(tree.root)
    if targets:
        _install_with_pip(_Wanted(targets, is_buildable), place, run_tool)
    return tuple(roots)


def _make_venv(folder: Path) -> None:
    # pip of the image works in the environment through --system-site-packages; copying one in takes 3 s.
    shutil.rmtree(folder, ignore_errors=True)
    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(folder)
    if sys.prefix != sys.base_prefix:
        # The image's Python is a virtual environment itself, whose packages the system's site-packages do not name.
        (site_packages,) = folder.glob('lib/python*/site-packages')
        (site_packages / 'image.pth').write_text('\n'.join(site.getsitepackages()), 'utf-8')


def _unpack(archive: Path, folder: Path) -> SourceTree:
    try:
        return unpack(archive, folder)
    except NotAnArchive as error:
        message = f'Package {archive.name} could not be unpacked: {error}.'
        raise ReplicaEnded(ExitReport('PACKAGE_UNREADABLE', message, evidence=(str(error),))) from error


def _install_with_pip(wanted: _Wanted, place: Workplace, run_tool: RunTool) -> None:
    python = place.python
    pip = [str(python), '-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--no-color']
    if not _has_pip(python):
        ensured = run_tool([str(python), '-m', 'ensurepip', '--default-pip'])
        if ensured.exit_code != 0:
            raise _failure('This machine image has no pip and Python cannot add it.', ensured, '')
    # A build that must fail would begin the log with a false alarm.
    indexes = None if wanted.is_buildable else probe_indexes(python, place.environment)
    if indexes is None or not indexes.reachable:
        offline = run_tool([*pip, '--no-index', '--no-build-isolation', *wanted.targets])
        if offline.exit_code == 0:
            return
        if find_missing(offline.lines) is None:
            raise _failure(f'pip could not install the package: {find_error(offline.lines)}', offline, '')
        indexes = indexes or probe_indexes(python, place.environment)
        if not indexes.reachable:
            raise _missing(offline, indexes)
    options = ['--retries', str(PIP_RETRIES), '--timeout', str(PIP_TIMEOUT_SECONDS), *indexes.pip_options()]
    online = run_tool([*pip, *options, *wanted.targets])
    if online.exit_code != 0:
        raise _missing(online, indexes)


def _has_pip(python: Path) -> bool:
    probe = [str(python), '-c', 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pip") is None)']
    return subprocess.run(probe, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0


def _missing(end: ToolEnd, indexes: Indexes) -> ReplicaEnded:
    missing = find_missing(end.lines)
    what = f'requirement {missing} is missing' if missing else find_error(end.lines)
    return _failure(f'pip could not install the package: {what}.', end, indexes.describe())


def _failure(message: str, end: ToolEnd, remark: str) -> ReplicaEnded:
    return ReplicaEnded(ExitReport('INSTALL_FAILED', f'{message} {remark}'.strip(), evidence=end.lines))
