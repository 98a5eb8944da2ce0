"""The files of an environment's third-party packages, as the packages' own records list them."""

import csv
import importlib.util
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, List, Sequence, Tuple

from vm_agent.cache.key import name_in, normalize_name, read_requirements, read_text

FILE_COUNT_MAX = 400_000
# A wheel that was built for other machines has one of these platform tags; `linux_x86_64` is that of a local build.
PORTABLE_TAGS = ('-any', '-manylinux', '-musllinux', '-macosx')


class NotCacheable(Exception):
    """The environment cannot be restored elsewhere, or its files have changed since it was installed."""


@dataclass(frozen=True)
class InstalledFile:
    """A regular file below the virtual environment, as it was right after the installation."""

    path: str
    size_bytes: int
    mode: int
    modified_at_ns: int
    changed_at_ns: int
    """The inode's change time, which no program can set: it shows every later write."""


@dataclass(frozen=True)
class InstalledEnvironment:
    venv: Path
    distributions: Tuple[str, ...]
    """`name-version`, sorted."""
    files: Tuple[InstalledFile, ...]
    is_portable: bool
    """Whether no package was compiled for the CPU of this machine."""

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def site_packages(venv: Path) -> Path:
    (found,) = venv.glob('lib/python*/site-packages')
    return found


def list_distributions(venv: Path) -> FrozenSet[str]:
    """Returns the names of the .dist-info folders in the virtual environment itself, without the image's."""
    return frozenset(path.name for path in site_packages(venv).glob('*.dist-info'))


def describe_environment(venv: Path, added: FrozenSet[str], own_names: Sequence[str]) -> InstalledEnvironment:
    """
    Returns the files of the added distributions without the job's own packages. Raises NotCacheable if a third-party
    package requires one of those, has no record of its files, or has files outside the virtual environment.
    """
    library = site_packages(venv)
    third_party = sorted(name for name in added if distribution_name(name) not in own_names)
    files: Dict[str, InstalledFile] = {}
    is_portable = True
    for name in third_party:
        _check_requirements(library / name, own_names)
        is_portable = is_portable and _is_portable(library / name)
        for path in _recorded_paths(venv, library, library / name):
            files[path] = describe_file(venv, path)
    if len(files) > FILE_COUNT_MAX:
        raise NotCacheable(f'it has {len(files)} files, more than {FILE_COUNT_MAX}')
    distributions = tuple(name[: -len('.dist-info')] for name in third_party)
    return InstalledEnvironment(venv, distributions, tuple(files[path] for path in sorted(files)), is_portable)


def describe_file(venv: Path, path: str) -> InstalledFile:
    """Raises NotCacheable if it is not a regular file."""
    try:
        status = os.lstat(venv / path)
    except OSError as error:
        raise NotCacheable(f'{path} cannot be read: {error.strerror}') from error
    if not stat.S_ISREG(status.st_mode):
        raise NotCacheable(f'{path} is not a regular file')
    return InstalledFile(path, status.st_size, status.st_mode & 0o755, status.st_mtime_ns, status.st_ctime_ns)


def distribution_name(folder_name: str) -> str:
    """Returns the normalized name in `NAME-VERSION.dist-info`."""
    return normalize_name(folder_name.split('-', 1)[0])


def _recorded_paths(venv: Path, library: Path, folder: Path) -> Iterator[str]:
    try:
        with open(folder / 'RECORD', encoding='utf-8', newline='') as record:
            names: List[str] = [row[0] for row in csv.reader(record) if row]
    except (OSError, ValueError) as error:
        raise NotCacheable(f'{folder.name} has no readable RECORD') from error
    for name in names:
        path = os.path.relpath(os.path.normpath(library / name), venv)
        if path.startswith(os.pardir) or os.path.isabs(name):
            raise NotCacheable(f'{folder.name} has files outside the virtual environment')
        # Bytecode may be missing from the record, and a record may name files that were never written.
        compiled = importlib.util.cache_from_source(path) if path.endswith('.py') else path
        yield from (one for one in {path, compiled} if os.path.lexists(venv / one))


def _is_portable(folder: Path) -> bool:
    lines = read_text(folder / 'WHEEL').splitlines()
    tags = [line.partition(':')[2].strip() for line in lines if line.lower().startswith('tag:')]
    return bool(tags) and all(any(portable in tag for portable in PORTABLE_TAGS) for tag in tags)


def _check_requirements(folder: Path, own_names: Sequence[str]) -> None:
    """A package that was chosen for one version of the job's own packages may not be right for the next."""
    for required in map(name_in, read_requirements(read_text(folder / 'METADATA'))[1]):
        if required in own_names:
            raise NotCacheable(f"{folder.name} requires the job's own package {required}")
