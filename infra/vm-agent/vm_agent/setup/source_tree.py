"""Unpacks an untrusted archive, and finds out whether a project can be imported without a build."""

import importlib.metadata
import importlib.util
import os
import posixpath
import re
import shutil
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Iterator, Optional, Tuple

from vm_agent.cache.key import read_text

# A link to a link, and so on; Linux follows as many (path_resolution(7)).
LINK_HOPS_MAX = 40
ZIP_START = b'PK\x03\x04'
GZIP_START = b'\x1f\x8b'
COMPILED_SUFFIXES = ('.c', '.cc', '.cpp', '.cu', '.pyx', '.f', '.f90', '.rs')
# Since this version, setuptools builds wheels without `wheel` (setuptools.pypa.io/en/stable/history.html#v70-1-0).
SETUPTOOLS_WITHOUT_WHEEL = (70, 1)


class InvalidArchive(Exception):
    """The file is not a valid archive, or unpacking it would be unsafe."""


@dataclass(frozen=True)
class Project:
    import_root: Optional[Path]
    """The directory from which the modules can be imported without a build; None if only a build can tell."""
    requirements: Tuple[str, ...]
    """The requirements in the project's metadata; empty if import_root is None."""


def unpack(archive: Path, folder: Path, unpacks_wheels: bool = False) -> None:
    """
    Unpacks regular files and folders from tar, tar.gz and zip to paths below the folder. A link to a file of the
    archive becomes that file, as in intake's list; other links, and devices, are ignored. A single file (.py or .txt)
    is copied. A wheel stays as it is for pip. Intake has checked the numbers of entries and bytes. Raises
    InvalidArchive.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        if archive.suffix in ('.py', '.txt'):
            shutil.copyfile(archive, folder / archive.name)
        elif archive.suffix != '.whl' or unpacks_wheels:
            _extract(archive, folder)
            _extract_links(archive, folder)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
        raise InvalidArchive(str(error)) from error


def inspect(root: Path) -> Project:
    """Inspects the directory of a setup.py or pyproject.toml without executing any of it."""
    metadata = _find_egg_info(root)
    if _needs_build(root):
        return Project(None, ())
    if metadata is not None:
        return Project(metadata.parent, read_requires_txt(read_text(metadata / 'requires.txt')))
    if declares_requirements(root) or (root / 'src').is_dir():
        return Project(None, ())
    return Project(root, ())


def read_requires_txt(text: str) -> Tuple[str, ...]:
    """Parses setuptools' requires.txt into pip requirements, with their markers and without those of extras."""
    requirements, marker = [], ''
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith('['):
            marker = line.strip('[]')
        elif line and not marker:
            requirements.append(line)
        elif line and marker.startswith(':'):
            requirements.append(f'{line} ; {marker[1:]}')
    return tuple(requirements)


def can_build(root: Path) -> bool:
    """Whether this interpreter has the build requirements of the tree, so that no index is needed."""
    backend = re.search(r'^\s*build-backend\s*=\s*["\']([\w.]+)', read_text(root / 'pyproject.toml'), re.MULTILINE)
    module = backend.group(1).split('.')[0] if backend else 'setuptools'
    if importlib.util.find_spec(module) is None:
        return False
    if module != 'setuptools' or importlib.util.find_spec('wheel') is not None:
        return True
    numbers = re.findall(r'\d+', importlib.metadata.version('setuptools'))[:2]
    return tuple(int(number) for number in numbers) >= SETUPTOOLS_WITHOUT_WHEEL


def _extract(archive: Path, folder: Path) -> None:
    for name, source in _entries(archive):
        path = _safe_path(name)
        if source is None:
            (folder / path).mkdir(parents=True, exist_ok=True)
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with open(folder / path, 'wb') as file:
            shutil.copyfileobj(source, file)


def _extract_links(archive: Path, folder: Path) -> None:
    """Hard links and symbolic links of a tar, to files that were extracted: a link on the disk costs no space."""
    pending = [] if _is_zip(archive) else list(_links(archive))
    for _ in range(LINK_HOPS_MAX):
        remaining = []
        for path, target in pending:
            source = folder / target
            if not source.is_file() or (folder / path).exists():
                remaining.append((path, target))
                continue
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(source, folder / path)
        if len(remaining) in (0, len(pending)):
            return
        pending = remaining


def _links(archive: Path) -> Iterator[Tuple[PurePosixPath, PurePosixPath]]:
    """The links of a tar, and the paths in the archive that they name."""
    with _open_tar(archive) as opened:
        for member in opened:
            path = _safe_path(member.name)
            if member.islnk():
                yield path, _safe_path(member.linkname)
            elif member.issym():
                target = posixpath.normpath(posixpath.join(posixpath.dirname(member.name), member.linkname))
                if not target.startswith(('/', '../')):
                    yield path, PurePosixPath(target)


def _entries(archive: Path) -> Iterator[Tuple[str, Optional[IO[bytes]]]]:
    """Yields the files, and the folders without content: a program may write into an empty one."""
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as opened_zip:
            for info in opened_zip.infolist():
                if info.is_dir():
                    yield info.filename, None
                else:
                    with opened_zip.open(info) as source:
                        yield info.filename, source
        return
    with _open_tar(archive) as opened_tar:
        for member in opened_tar:
            if member.isdir():
                yield member.name, None
            elif member.isreg():
                yield member.name, opened_tar.extractfile(member)


def _is_zip(archive: Path) -> bool:
    """Decided by the first bytes, as at intake: zipfile looks at the end, where a tar can have the end of a zip in it."""
    return _starts_with(archive, ZIP_START)


def _open_tar(archive: Path) -> tarfile.TarFile:
    """
    Decided by the first bytes, too: of itself, tarfile tries each compression first, and the name of a tar's first
    entry can be a whole compressed tar (LZMA has no magic number, and ignores what follows).
    """
    return tarfile.open(archive, 'r:gz' if _starts_with(archive, GZIP_START) else 'r:')


def _starts_with(archive: Path, start: bytes) -> bool:
    with open(archive, 'rb') as file:
        return file.read(len(start)) == start


def _safe_path(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or '..' in path.parts or '\\' in name or '\0' in name:
        raise InvalidArchive(f'entry {name!r} is not a path inside the archive')
    return path


def _find_egg_info(root: Path) -> Optional[Path]:
    found = sorted([*root.glob('*.egg-info'), *root.glob('src/*.egg-info')])
    return found[0] if len(found) == 1 and found[0].is_dir() else None


def _needs_build(root: Path) -> bool:
    text = read_text(root / 'setup.py')
    if re.search(r'\b(cmdclass|ext_modules|package_dir)\b', text) and not _is_src_layout(text):
        return True
    return any(path.suffix in COMPILED_SUFFIXES for path in root.rglob('*'))


def _is_src_layout(text: str) -> bool:
    """Whether package_dir is only `{'': 'src'}`, a mapping that the location of the egg-info shows, too."""
    return (
        re.search(r'\b(cmdclass|ext_modules)\b', text) is None
        and re.search(r"['\"]{2}\s*:\s*['\"]src['\"]", text) is not None
    )


def declares_requirements(root: Path) -> bool:
    text = '\n'.join(read_text(root / name) for name in ('setup.py', 'setup.cfg', 'pyproject.toml'))
    return re.search(r'\b(install_requires|dependencies|dynamic)\b', text) is not None
