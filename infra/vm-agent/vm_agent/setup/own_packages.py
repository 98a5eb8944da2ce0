"""The job's own packages: built once, so that their requirements are known before any of those is installed."""

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, List, Optional, Sequence, Tuple

from vm_agent.cache.key import name_in, normalize_requirement, read_requirements
from vm_agent.http.credentials import without_credentials

METADATA_BYTES_MAX = 1_048_576
INDEX_OPTION = re.compile(
    r'(?:(?:-i|--index-url|--extra-index-url)[=\s]\s*https?://\S+|--no-index|--pre|--prefer-binary|--require-hashes|'
    r'(?:--only-binary|--no-binary|--trusted-host)[=\s]\s*\S+)$'
)


@dataclass(frozen=True)
class OwnPackages:
    wheels: Tuple[Path, ...]
    names: Tuple[str, ...]
    """Normalized."""
    requirements: Tuple[str, ...]
    """pip's arguments, without requirements that the job's own packages satisfy."""

    def normalized_requirements(self) -> Optional[Tuple[str, ...]]:
        """Sorted; None if one of them is not by name and version alone, and may mean something else the next time."""
        normalized: List[Optional[str]] = []
        arguments = iter(self.requirements)
        for argument in arguments:
            if argument == '-r':
                normalized.extend(_normalize_file(Path(next(arguments, ''))))
            else:
                normalized.append(normalize_requirement(argument))
        return None if None in normalized else tuple(sorted({one for one in normalized if one is not None}))


class UnreadableWheel(Exception):
    """The file is not a wheel whose metadata can be read; pip reports what is wrong with it."""


def read_own_packages(wheels: Sequence[Path], requirements: Sequence[str]) -> OwnPackages:
    """Returns the wheels with all requirements of the job: those given, and those in their metadata."""
    found: List[str] = list(requirements)
    names = []
    for wheel in wheels:
        name, required = read_requirements(_read_metadata(wheel))
        names.append(name)
        found.extend(required)
    third_party = (one for one in found if name_in(one) not in names)
    return OwnPackages(tuple(wheels), tuple(sorted(names)), tuple(dict.fromkeys(third_party)))


def _normalize_file(path: Path) -> Iterator[Optional[str]]:
    """Yields the requirements of a file with their hashes, and its options that select an index."""
    try:
        text = path.read_text('utf-8', 'replace')
    except OSError:
        yield None
        return
    for line in re.sub(r'\\\n', ' ', text).splitlines():
        line = re.sub(r'(?:^|\s)#.*', '', line).strip()
        requirement, *hashes = re.split(r'\s+(?=--hash[=\s])', line)
        if INDEX_OPTION.match(line):
            yield without_credentials(line)
        elif line:
            normalized = normalize_requirement(requirement)
            yield None if normalized is None else ' '.join([normalized, *sorted(hashes)])


def _read_metadata(wheel: Path) -> str:
    try:
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [name for name in archive.namelist() if re.fullmatch(r'[^/]+\.dist-info/METADATA', name)]
            with archive.open(path) as file:
                return file.read(METADATA_BYTES_MAX).decode('utf-8', 'replace')
    except (OSError, ValueError, zipfile.BadZipFile, RuntimeError) as error:
        raise UnreadableWheel(str(error)) from error


def unpack_plain_wheel(wheel: Path, library: Path) -> bool:
    """
    Installs a wheel that was built on this machine, in a moment instead of pip's second, if unpacking is all that this
    takes. Returns False if the wheel has scripts, or files for other folders.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        if any(re.match(r'[^/]+\.data/|[^/]+\.dist-info/entry_points\.txt$', name) for name in names):
            return False
        archive.extractall(library)
    return True
