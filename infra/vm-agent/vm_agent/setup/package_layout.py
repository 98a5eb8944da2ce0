"""
Decides the root of a package, its style, and what its program needs.

The control plane decides by the same rule before a VM exists (shared/package/metadata/package-layout.ts);
shared/protocol/golden/package-layouts.json binds both.
"""

import importlib
import re
from dataclasses import dataclass
from typing import AbstractSet, Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple

TOML_PARSERS = ('tomllib', 'pip._vendor.tomli')
REQUIREMENTS_FILE = 'requirements.txt'
# Build and test files, which are never the program.
NO_PROGRAMS = ('setup', 'conftest', 'noxfile')
# Entries at the root that macOS adds to archives.
NOISE = re.compile(r'(?:__MACOSX|\.DS_Store|\._.*)\Z')
SETUP_CONFIG_SECTION = re.compile(r'^\[(?:metadata|options)\]', re.MULTILINE)
SCRIPT_BLOCK = re.compile(r'^# /// script[ \t]*\r?\n((?:#(?: [^\n]*)?\r?\n){1,200}?)# ///[ \t]*\r?$', re.MULTILINE)
BUILD_TABLE = re.compile(r'^[ \t]*\[(?:build-system|tool\.setuptools)\b', re.MULTILINE)


@dataclass(frozen=True)
class PackageTree:
    """The files of a package by path relative to its archive; a single file has the archive's name."""

    name: str
    """The file name of the archive."""
    paths: AbstractSet[str]
    read_text: Callable[[str], Optional[str]]
    """Returns the text of setup.py, setup.cfg, pyproject.toml or the program; None if the file does not exist."""


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
    """Requirements to install, from the pyproject.toml of sources and the inline metadata of a script (PEP 723)."""


@dataclass(frozen=True)
class _Found:
    root: str
    program: PackageProgram


@dataclass(frozen=True)
class _ProjectFiles:
    """The texts of a directory's build files; None if a file does not exist."""

    setup_script: Optional[str]
    setup_config: Optional[str]
    pyproject: Optional[str]

    def is_installable(self) -> bool:
        return (
            self.setup_script is not None
            or SETUP_CONFIG_SECTION.search(self.setup_config or '') is not None
            or BUILD_TABLE.search(self.pyproject or '') is not None
        )

    def declares_dependencies(self) -> bool:
        """Whether an installable directory states its dependencies itself; pip then installs these."""
        setup = f'{self.setup_script or ""}\n{self.setup_config or ""}'
        return (
            re.search(r'\binstall_requires\b', setup) is not None
            or re.search(r'(?:^|[\s"\'.\[])dependencies\b', self.pyproject or '') is not None
        )


def decide_layout(tree: PackageTree, module: str) -> PackageLayout:
    """`module` is a dotted name, `trainer.task`, or the path of a script, `examples/train.py`."""
    if re.search(r'\.(?:whl|py|txt)\Z', tree.name, re.IGNORECASE):
        return _layout_of_file(tree, module)
    top = _find_top(tree.paths)
    bases = [''] if top == '' else [top, '']
    project = next((base for base in bases if _files_of(tree, base).is_installable()), None)
    roots = [root for base in bases for root in _import_roots_of(tree, base)]
    found = _find_script(tree, bases, module) if module.endswith('.py') else _find_module(tree, roots, module)
    is_package = _join(top, '__init__.py') in tree.paths
    root = _first(project, None if found is None else _base_of(found.root, bases), '' if is_package else top)
    program = None if found is None else found.program
    import_roots = [*([] if found is None else [found.root]), *_import_roots_of(tree, root)]
    is_script = program is not None and program.kind == 'SCRIPT'
    files = _files_of(tree, root)
    skips_files = project is not None and files.declares_dependencies()
    return PackageLayout(
        style='SOURCES' if project is None else 'PROJECT',
        root=root,
        import_roots=tuple(dict.fromkeys(import_roots)),
        program=program,
        working_directory=root if project is None or is_script else None,
        requirement_files=() if skips_files else _find_requirement_files(tree, root, program),
        requirements=(
            *(_read_dependencies(_parse_toml(files.pyproject or '').get('project')) if project is None else ()),
            *(() if project is not None and not is_script else _read_script_dependencies(tree, program)),
        ),
    )


def _layout_of_file(tree: PackageTree, module: str) -> PackageLayout:
    is_wheel = tree.name.lower().endswith('.whl')
    if not module.endswith('.py'):
        found = _find_module(tree, [''], module)
    else:
        found = None if is_wheel else _find_script(tree, [''], module)
    return PackageLayout(
        style='WHEEL' if is_wheel else 'FILE',
        root='',
        import_roots=('',),
        program=None if found is None else found.program,
        working_directory=None if found is None or is_wheel else '',
        requirement_files=(tree.name,) if tree.name.lower().endswith('.txt') else (),
        requirements=() if is_wheel or found is None else _read_script_dependencies(tree, found.program),
    )


def _find_top(paths: Iterable[str]) -> str:
    """Returns the top-level directory that contains all files; '' if there is none."""
    tops = {path.split('/')[0] for path in paths if not NOISE.match(path.split('/')[0])}
    files = {path for path in paths if '/' not in path and not NOISE.match(path)}
    return tops.pop() if len(tops) == 1 and not files else ''


def _find_script(tree: PackageTree, bases: Sequence[str], script: str) -> Optional[_Found]:
    relative = re.sub(r'^(?:\./)+', '', script)
    for base in bases if relative != 'setup.py' else ():
        if _join(base, relative) in tree.paths:
            return _Found(base, PackageProgram('SCRIPT', _join(base, relative)))
    return None


def _find_module(tree: PackageTree, roots: Sequence[str], module: str) -> Optional[_Found]:
    if module in NO_PROGRAMS or module == '':
        return None
    for root in roots:
        stem = _join(root, module.replace('.', '/'))
        # A package takes precedence over a module of the same name, and python -m runs only its __main__.
        is_package = f'{stem}/__init__.py' in tree.paths
        for path in (f'{stem}/__main__.py', *(() if is_package else (f'{stem}.py',))):
            if path in tree.paths:
                return _Found(root, PackageProgram('MODULE', path))
    return None


def _import_roots_of(tree: PackageTree, base: str) -> List[str]:
    source = _join(base, 'src')
    has_source = any(path.startswith(f'{source}/') and path.endswith('.py') for path in tree.paths)
    return [base, source] if has_source else [base]


def _base_of(root: str, bases: Sequence[str]) -> Optional[str]:
    """Returns the base directory of an import root: of `src` too."""
    return next((base for base in bases if root in (base, _join(base, 'src'))), None)


def _find_requirement_files(tree: PackageTree, root: str, program: Optional[PackageProgram]) -> Tuple[str, ...]:
    """Returns `requirements.txt` in the root, and in the directories between it and the program."""
    below = ['']
    if program is not None and (root == '' or program.path.startswith(f'{root}/')):
        below = program.path[0 if root == '' else len(root) + 1 :].split('/')
    paths = [_join(root, '/'.join([*below[:depth], REQUIREMENTS_FILE])) for depth in range(len(below))]
    return tuple(path for path in paths if path in tree.paths)


def _files_of(tree: PackageTree, base: str) -> _ProjectFiles:
    return _ProjectFiles(*(tree.read_text(_join(base, name)) for name in ('setup.py', 'setup.cfg', 'pyproject.toml')))


def _read_script_dependencies(tree: PackageTree, program: Optional[PackageProgram]) -> Tuple[str, ...]:
    """Returns the dependencies in the inline metadata of the program's file (PEP 723)."""
    block = None if program is None else SCRIPT_BLOCK.search(tree.read_text(program.path) or '')
    lines = re.split(r'\r?\n', block.group(1)) if block else []
    return _read_dependencies(_parse_toml('\n'.join(re.sub('^# ?', '', line) for line in lines)))


def _read_dependencies(project: Any) -> Tuple[str, ...]:
    listed = project.get('dependencies') if isinstance(project, dict) else None
    return tuple(item for item in listed if isinstance(item, str)) if isinstance(listed, list) else ()


def _parse_toml(text: str) -> Mapping[str, Any]:
    """Returns an empty table for invalid text, and where neither Python (since 3.11) nor pip brings a parser."""
    for name in TOML_PARSERS:
        try:
            return importlib.import_module(name).loads(text)
        except ImportError:
            continue
        except (ValueError, RecursionError):
            break
    return {}


def _first(*values: Optional[str]) -> str:
    return next((value for value in values if value is not None), '')


def _join(directory: str, path: str) -> str:
    return f'{directory}/{path}' if directory else path
