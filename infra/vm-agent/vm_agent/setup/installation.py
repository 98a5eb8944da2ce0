"""
Makes the job's packages importable. The machine image's packages come first; an index is used only for what is missing.

Measured where the default index is unreachable: pip alone spends 24 s on retries for the build requirements of a
package that needs nothing; this module installs the same package in well under a second.
"""

import re
import shutil
import site
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Mapping, Optional, Sequence, Tuple

from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.package_index import Indexes, probe_indexes
from vm_agent.setup.source_tree import InvalidArchive, SourceTree, can_build, unpack

PIP_RETRIES = 2
PIP_TIMEOUT_SECONDS = 15
# pip's messages for a missing requirement, from resolving and from building.
MISSING_PATTERNS = (
    r'No matching distribution found for ([^\n]+)',
    r'Could not find a version that satisfies the requirement ([^\n(]+)',
    r"No module named '?([\w.]+)'?",
    r"Cannot import '([\w.]+)'",
    r"invalid command '(bdist_wheel)'",
)


@dataclass(frozen=True)
class ToolResult:
    exit_code: int
    lines: Tuple[str, ...]
    """The last lines of its output."""


@dataclass(frozen=True)
class _Targets:
    paths: Sequence[str]
    """Wheels, source trees and requirements, as pip's arguments."""
    is_buildable: bool
    """Whether the image has the build requirements, so that pip is tried without an index first."""


RunTool = Callable[[Sequence[str]], ToolResult]
"""Runs a command under the supervisor; raises ReplicaEnded if the VM is told to stop in the meantime."""


@dataclass(frozen=True)
class InstallPaths:
    """The directories on the work disk, and the environment variables of pip."""

    venv: Path
    sources: Path
    environment: Mapping[str, str]

    @property
    def python(self) -> Path:
        return self.venv / 'bin' / 'python'


def install(archives: Sequence[Path], paths: InstallPaths, run_tool: RunTool) -> Tuple[Path, ...]:
    """
    Installs the packages into a virtual environment that includes the image's packages. Returns the directories for
    PYTHONPATH: source trees that are imported without installation. Raises ReplicaEnded with INSTALL_FAILED, which
    names the requirement, or PACKAGE_UNREADABLE.
    """
    _create_venv(paths.venv)
    targets: List[str] = []
    is_buildable = True
    roots: List[Path] = []
    for number, archive in enumerate(archives):
        if archive.suffix == '.whl':
            targets.append(str(archive))
            continue
        tree = _unpack(archive, paths.sources / str(number))
        if tree.import_root is not None and not (tree.has_build_file and can_build(tree.root)):
            roots.append(tree.import_root)
            targets.extend(tree.requirements)
        else:
            targets.append(str(tree.root))
            is_buildable = is_buildable and can_build(tree.root)
    if targets:
        _install_with_pip(_Targets(targets, is_buildable), paths, run_tool)
    return tuple(roots)


def find_missing(lines: Sequence[str]) -> Optional[str]:
    """Returns the requirement that pip did not find, or None if it failed for another reason."""
    text = '\n'.join(lines)
    for pattern in MISSING_PATTERNS:
        found = re.search(pattern, text)
        if found:
            return found.group(1).split(' (from')[0].strip().rstrip('.')
    return None


def find_error(lines: Sequence[str]) -> str:
    """Returns the most specific line about a failure: the last exception, else the last error, else the last line."""
    exceptions = [line.strip() for line in lines if re.match(r'\s*[\w.]*(Error|Exception)\b.*:', line)]
    errors = [line.strip() for line in lines if re.match(r'\s*(ERROR|error):', line)]
    return (exceptions or errors or [line.strip() for line in lines if line.strip()] or ['pip printed nothing'])[-1]


def _create_venv(folder: Path) -> None:
    # The image's pip works in the environment through system_site_packages; installing one takes 3 s.
    shutil.rmtree(folder, ignore_errors=True)
    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(folder)
    if sys.prefix != sys.base_prefix:
        # The image's Python is a virtual environment itself, whose packages are not in the system's site-packages.
        (site_packages,) = folder.glob('lib/python*/site-packages')
        (site_packages / 'image.pth').write_text('\n'.join(site.getsitepackages()), 'utf-8')


def _unpack(archive: Path, folder: Path) -> SourceTree:
    try:
        return unpack(archive, folder)
    except InvalidArchive as error:
        message = f'Package {archive.name} could not be unpacked: {error}.'
        raise ReplicaEnded(ExitReport('PACKAGE_UNREADABLE', message, evidence=(str(error),))) from error


def _install_with_pip(targets: _Targets, paths: InstallPaths, run_tool: RunTool) -> None:
    python = paths.python
    pip = [str(python), '-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--no-color']
    if not _has_pip(python):
        ensured = run_tool([str(python), '-m', 'ensurepip', '--default-pip'])
        if ensured.exit_code != 0:
            raise _failure('The machine image has no pip, and ensurepip could not install it.', ensured, '')
    # A build that is bound to fail offline would put a misleading error into the log.
    indexes = None if targets.is_buildable else probe_indexes(python, paths.environment)
    if indexes is None or not indexes.reachable:
        offline = run_tool([*pip, '--no-index', '--no-build-isolation', *targets.paths])
        if offline.exit_code == 0:
            return
        if find_missing(offline.lines) is None:
            raise _failure(f'pip could not install the package: {find_error(offline.lines)}', offline, '')
        indexes = indexes or probe_indexes(python, paths.environment)
        if not indexes.reachable:
            raise _missing(offline, indexes)
    options = ['--retries', str(PIP_RETRIES), '--timeout', str(PIP_TIMEOUT_SECONDS), *indexes.pip_options()]
    online = run_tool([*pip, *options, *targets.paths])
    if online.exit_code != 0:
        raise _missing(online, indexes)


def _has_pip(python: Path) -> bool:
    probe = [str(python), '-c', 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pip") is None)']
    return subprocess.run(probe, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0


def _missing(result: ToolResult, indexes: Indexes) -> ReplicaEnded:
    missing = find_missing(result.lines)
    reason = f'requirement {missing} is missing' if missing else find_error(result.lines)
    return _failure(f'pip could not install the package: {reason}.', result, indexes.describe_unreachable())


def _failure(message: str, result: ToolResult, remark: str) -> ReplicaEnded:
    return ReplicaEnded(ExitReport('INSTALL_FAILED', f'{message} {remark}'.strip(), evidence=result.lines))
