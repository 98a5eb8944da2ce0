"""
The plan of what is installed for a job's packages, and from where its program runs. Nothing is installed or executed
here.
"""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from vm_agent.setup.package_layout import PackageLayout
from vm_agent.setup.packages import Archive
from vm_agent.setup.source_tree import can_build, inspect

# A requirement that can be an argument of pip by itself: no option, URL without a name, path, hash or continued line.
PLAIN_REQUIREMENT = re.compile(r'[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*(?:$|[<>=!~;(@])(?!.*(?:\\$|\s--))')
# The project itself, as exported requirements contain it (`-e .`): its sources are importable already.
OWN_PROJECT = re.compile(r'(?:(?:-e|--editable)(?:\s+|=))?(?:file:)?\.(?:/|\[[^\]]*\])*\s*(?:[#;].*)?$')
SETUP_SHIM = 'from setuptools import setup\n\nsetup()\n'
# Finds a module without importing its parent packages, which may take seconds and print.
FIND_MODULE = (
    'import sys; from importlib.machinery import PathFinder\n'
    'path, name = None, ""\n'
    'for part in sys.argv[1].split("."):\n'
    '    name = f"{name}.{part}" if name else part\n'
    '    spec = PathFinder.find_spec(name, path)\n'
    '    if spec is None: sys.exit(1)\n'
    '    path = spec.submodule_search_locations or []\n'
)
FIND_MODULE_SECONDS_MAX = 60


@dataclass(frozen=True)
class Program:
    """The program of a job, `python -m MODULE` or `python SCRIPT`."""

    script: Optional[str] = None
    """The path of the script in the working directory; None for a module."""
    working_directory: Optional[Path] = None
    """The directory of the unpacked package in which it runs; None for a directory without its files."""
    source_roots: Tuple[Path, ...] = ()
    """From where the module is imported if no installed package contains it."""


@dataclass
class Targets:
    """The packages that pip installs; all texts are its arguments."""

    wheels: List[str] = field(default_factory=list)
    trees: List[str] = field(default_factory=list)
    """Directories that pip builds and installs."""
    requirements: List[str] = field(default_factory=list)
    """Requirements, and `-r` with a file."""
    is_buildable: bool = True
    """Whether the image has the build requirements of all trees, so that no index is needed for them."""

    @property
    def paths(self) -> Sequence[str]:
        return (*self.wheels, *self.trees, *self.requirements)


@dataclass
class PackagePlan:
    targets: Targets = field(default_factory=Targets)
    import_roots: List[Path] = field(default_factory=list)
    """Directories for PYTHONPATH: sources that are imported without installation."""
    program: Program = Program()


def plan_packages(archives: Sequence[Archive], sources: Path, module: str) -> PackagePlan:
    """
    Unpacks the packages into folders of `sources`. `module` is the program: a module's name or a script's path. Raises
    ReplicaEnded with PACKAGE_UNREADABLE.
    """
    plan = PackagePlan()
    folders = [sources / str(number) for number in range(len(archives))]
    layouts = [archive.unpack(folder, module) for archive, folder in zip(archives, folders)]
    for archive, layout, folder in zip(archives, layouts, folders):
        if layout.style == 'WHEEL':
            plan.targets.wheels.append(str(archive.path))
        _add_layout(plan, layout, folder)
    programs = (_find_program(layout, folder) for layout, folder in zip(layouts, folders))
    unpacked = (folder / layout.root for layout, folder in zip(layouts, folders) if layout.style != 'WHEEL')
    # A command, or a module of a requirement, finds the package's files by relative paths.
    plan.program = next(filter(None, programs), None) or Program(working_directory=next(unpacked, None))
    return plan


def find_import_roots(plan: PackagePlan, module: str, python: Path) -> Sequence[Path]:
    """
    Returns the directories for PYTHONPATH after the installation. Sources whose module no installed package contains
    (setup.py lists other packages, or a folder has no __init__.py) are among them.
    """
    if not plan.program.source_roots or plan.program.script is not None:
        return plan.import_roots
    probe = [str(python), '-c', FIND_MODULE, module]
    found = subprocess.run(probe, stdin=subprocess.DEVNULL, timeout=FIND_MODULE_SECONDS_MAX, check=False)
    return plan.import_roots if found.returncode == 0 else (*plan.import_roots, *plan.program.source_roots)


def _add_layout(plan: PackagePlan, layout: PackageLayout, folder: Path) -> None:
    if layout.style == 'PROJECT':
        _add_project(plan, folder / layout.root)
    elif layout.style != 'WHEEL':
        plan.import_roots.extend(folder / root for root in layout.import_roots)
    plan.targets.requirements.extend(layout.requirements)
    for path in layout.requirement_files:
        plan.targets.requirements.extend(read_requirements(folder / path))


def _add_project(plan: PackagePlan, root: Path) -> None:
    if not any((root / name).is_file() for name in ('setup.py', 'pyproject.toml')):
        # pip rejects a directory that has only a setup.cfg.
        (root / 'setup.py').write_text(SETUP_SHIM, 'utf-8')
    project, has_build_requirements = inspect(root), can_build(root)
    if project.import_root is not None and not has_build_requirements:
        plan.import_roots.append(project.import_root)
        plan.targets.requirements.extend(project.requirements)
    else:
        plan.targets.trees.append(str(root))
        plan.targets.is_buildable = plan.targets.is_buildable and has_build_requirements


def _find_program(layout: PackageLayout, folder: Path) -> Optional[Program]:
    program = layout.program
    if program is None:
        return None
    directory = None if layout.working_directory is None else folder / layout.working_directory
    script = None
    if directory is not None and program.kind == 'SCRIPT':
        script = (folder / program.path).relative_to(directory).as_posix()
    return Program(
        script=script,
        working_directory=directory,
        source_roots=tuple(folder / root for root in layout.import_roots) if layout.style == 'PROJECT' else (),
    )


def read_requirements(path: Path) -> Tuple[str, ...]:
    """
    Returns the requirements of a file as arguments of pip: one by one if all are plain, else `-r` and the file. Lines
    that name the project itself are omitted, in a copy of the file beside it.
    """
    text = path.read_text('utf-8', 'replace').lstrip('\ufeff')
    lines = [line for line in text.splitlines() if not OWN_PROJECT.match(line.strip())]
    stated = [re.sub(r'(?:^|\s)#.*', '', line).strip() for line in lines]
    requirements = tuple(line for line in stated if line)
    if all(PLAIN_REQUIREMENT.match(line) for line in requirements):
        return requirements
    copy = path.with_name(f'.dropforge-{path.name}')
    copy.write_text('\n'.join(lines) + '\n', 'utf-8')
    return '-r', str(copy)
