"""How a package is made runnable: decided when its job was submitted (shared/package/metadata/package-layout.ts)."""

import re
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, normpath
from typing import Optional, Tuple

from vm_agent.cache.key import read_text
from vm_agent.setup.source_tree import declares_requirements

# Entries at the root that macOS adds to archives.
NOISE = re.compile(r'(?:__MACOSX|\.DS_Store|\._.*)\Z')
BUILD_TABLE = re.compile(r'^[ \t]*\[(?:build-system|tool\.setuptools)\b', re.MULTILINE)


@dataclass(frozen=True)
class PackageProgram:
    kind: str
    """MODULE for `python -m MODULE`, SCRIPT for `python SCRIPT`."""
    path: str


@dataclass(frozen=True)
class PackageLayout:
    """Directories and files are relative to the archive; '' is its root."""

    style: str
    """
    PROJECT and WHEEL are installed with pip; SOURCES and FILE (a program, or a requirements file) stay where they are
    unpacked.
    """
    root: str
    """The directory of the project's build file, or the directory from which the sources run."""
    import_roots: Tuple[str, ...]
    """Directories from which the package's modules can be imported without an installation, in order."""
    program: Optional[PackageProgram]
    """The program to run; None if the package does not contain it."""
    working_directory: Optional[str]
    """The program's working directory; None if it is a directory without the package's files."""
    requirement_files: Tuple[str, ...]
    requirements: Tuple[str, ...]


def layout_of_earlier_job(file_name: str, folder: Path, module: str) -> PackageLayout:
    """
    The layout of a package, unpacked in `folder`, of a job that v0.1.0 accepted: a folder with a build file is installed,
    anything else runs in place with its requirements.txt (ADR 51).
    """
    if file_name.endswith('.whl'):
        return PackageLayout('WHEEL', '', ('',), None, None, (), ())
    entries = [entry for entry in folder.iterdir() if not NOISE.match(entry.name)]
    top = entries[0].name if len(entries) == 1 and entries[0].is_dir() else ''
    is_script, stem = module.endswith('.py'), module.replace('.', '/')
    names = (normpath(module),) if is_script else (f'{stem}/__main__.py', f'{stem}.py') if module else ()
    bases = [(base, _join(base, source)) for base in (top, '') for source in ('', 'src')]
    found = ((base, place, _join(place, name)) for base, place in bases for name in names)
    base, place, path = next((one for one in found if (folder / one[2]).is_file()), (top, top, ''))
    is_project = (folder / top / 'setup.py').is_file() or BUILD_TABLE.search(read_text(folder / top / 'pyproject.toml'))
    root = top if is_project else base
    listed = [file_name] if file_name.endswith('.txt') else []
    if not (is_project and declares_requirements(folder / root)):
        listed += [_join(root, 'requirements.txt'), _join(dirname(path), 'requirements.txt')]
    return PackageLayout(
        style='PROJECT' if is_project else 'SOURCES',
        root=root,
        import_roots=tuple(dict.fromkeys(one for one in (place, root, _join(root, 'src')) if (folder / one).is_dir())),
        program=PackageProgram('SCRIPT' if is_script else 'MODULE', path) if path else None,
        working_directory=None if is_project and not (path and is_script) else root,
        requirement_files=tuple(dict.fromkeys(one for one in listed if (folder / one).is_file())),
        requirements=(),
    )


def _join(*parts: str) -> str:
    return '/'.join(filter(None, parts))
