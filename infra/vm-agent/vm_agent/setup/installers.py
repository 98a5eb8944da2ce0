"""The command lines of pip and uv, and where they run."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List, Mapping, Optional, Protocol, Sequence, Tuple

from vm_agent.setup.package_index import Indexes

PIP_RETRIES = 2
PIP_TIMEOUT_SECONDS = 15
# `uv pip install --dry-run` prints ` + NAME==VERSION`, and `(from URL)` after a file or folder.
UV_PLANNED_PATTERN = re.compile(r'^ \+ ([A-Za-z0-9._-]+==\S+)(?: \(from (\S+)\))?$')
UV_COUNT_PATTERN = re.compile(r'^Would install (\d+) packages?\b')


@dataclass(frozen=True)
class ToolResult:
    exit_code: int
    lines: Tuple[str, ...]
    """The last lines of its output."""


class RunTool(Protocol):
    def __call__(self, argv: Sequence[str], *, is_logged: bool = True) -> ToolResult:
        """Runs a command under the supervisor; raises ReplicaEnded if the VM is told to stop in the meantime."""
        ...


@dataclass(frozen=True)
class InstallPaths:
    """The directories on the work disk, and the environment variables of the installer."""

    venv: Path
    environment: Mapping[str, str]

    @property
    def python(self) -> Path:
        return self.venv / 'bin' / 'python'

    @property
    def built_wheels(self) -> Path:
        return self.venv.with_name('wheels')


@dataclass(frozen=True)
class Pip:
    python: Path
    run_tool: RunTool

    def install_offline(self, targets: Sequence[str]) -> ToolResult:
        """Installs what needs no index: the image satisfies every requirement. What it prints is not logged."""
        return self._run('install', '--no-index', '--no-build-isolation', *targets, is_logged=False)

    def install_alone(self, wheels: Sequence[str]) -> ToolResult:
        """Installs wheels whose requirements are installed already."""
        return self._run('install', '--no-index', '--no-deps', *wheels)

    def install(self, targets: Sequence[str], indexes: Indexes) -> ToolResult:
        retries = ['--retries', str(PIP_RETRIES), '--timeout', str(PIP_TIMEOUT_SECONDS)]
        return self._run('install', *retries, *indexes.pip_options(), *targets)

    def build_wheels(self, trees: Sequence[str], folder: Path) -> ToolResult:
        """Builds source trees with the image's build requirements."""
        options = ['--no-index', '--no-deps', '--no-build-isolation', '--wheel-dir', str(folder)]
        return self._run('wheel', *options, *trees)

    def build_isolated(self, trees: Sequence[str], folder: Path, indexes: Indexes) -> ToolResult:
        """Builds source trees with build requirements from an index."""
        return self._run('wheel', '--no-deps', *indexes.pip_options(), '--wheel-dir', str(folder), *trees)

    def is_installed(self) -> bool:
        probe = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pip") is None)'
        command = [str(self.python), '-c', probe]
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0

    def ensure(self) -> ToolResult:
        return self.run_tool([str(self.python), '-m', 'ensurepip', '--default-pip'])

    def _run(self, command: str, *arguments: str, is_logged: bool = True) -> ToolResult:
        options = ['--no-input', '--disable-pip-version-check', '--no-color']
        return self.run_tool([str(self.python), '-m', 'pip', command, *options, *arguments], is_logged=is_logged)


@dataclass(frozen=True)
class Uv:
    """
    Installs faster than pip. uv ignores the packages that a virtual environment inherits from the image
    (github.com/astral-sh/uv/issues/7358), so it resolves against the image's interpreter without changing it, and
    installs what is missing there into the virtual environment, without dependencies.
    """

    executable: str
    python: Path
    """The virtual environment's."""
    image_python: str
    run_tool: RunTool

    def install(self, targets: Sequence[str], indexes: Indexes) -> Optional[ToolResult]:
        """Returns None if uv cannot tell what is missing, for example since it cannot satisfy the requirements."""
        # A VM installs once: a cache would only double the bytes on its disk.
        options = ['--no-progress', '--color', 'never', '--no-cache', *indexes.uv_options()]
        plan = self._run('--dry-run', '--python', self.image_python, '--break-system-packages', *options, *targets)
        missing = read_uv_plan(plan.lines) if plan.exit_code == 0 else None
        if missing is None:
            return None
        if not missing:
            return plan
        return self._run('--python', str(self.python), '--no-deps', '--compile-bytecode', *options, *missing)

    def _run(self, *arguments: str) -> ToolResult:
        return self.run_tool([self.executable, 'pip', 'install', *arguments])


def read_uv_plan(lines: Sequence[str]) -> Optional[List[str]]:
    """Returns the packages to install; None if not every line of the plan is there and understood."""
    counts = [int(found.group(1)) for found in map(UV_COUNT_PATTERN.match, lines) if found]
    planned = [found for found in map(UV_PLANNED_PATTERN.match, lines) if found]
    if not counts and any('Would make no changes' in line for line in lines):
        return []
    if len(counts) != 1 or counts[0] != len(planned):
        return None
    return [_requirement_of(*found.groups()) for found in planned]


def _requirement_of(pinned: str, url: Optional[str]) -> str:
    return pinned if url is None else f'{pinned.split("==")[0]} @ {url}'


def find_uv(paths: InstallPaths, run_tool: RunTool) -> Optional[Uv]:
    """Returns the image's uv, or None if it has none."""
    executable = shutil.which('uv', path=paths.environment.get('PATH'))
    return None if executable is None else Uv(executable, paths.python, sys.executable, run_tool)
