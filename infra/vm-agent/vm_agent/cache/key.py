"""
Identifies an environment of third-party packages: equal keys mean that installing would give equal, or equally valid,
packages. Everything that pip's choice depends on is part of the key, except what the package index has at the time.
"""

import hashlib
import json
import os
import platform
import re
import sys
import sysconfig
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from vm_agent.http.credentials import without_credentials

# Incremented when an entry of the same key would have another content.
KEY_VERSION = 1
NAME = r'[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?'
SPECIFIER = r'(?:===|~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+'
# A requirement by name and version (PEP 508), not by URL or path.
REQUIREMENT_PATTERN = re.compile(
    rf'^({NAME})\s*(?:\[([^\]]*)\])?\s*\(?\s*((?:{SPECIFIER}\s*(?:,\s*)?)*)\)?\s*(?:;(.*))?$', re.DOTALL
)
EXTRA_MARKER = re.compile(r'\bextra\s*==')
ARCHIVE_SUFFIXES = ('.whl', '.zip', '.tar.gz', '.tgz', '.tar.bz2', '.tar.xz', '.tar')
# Settings of pip that change how packages are fetched or reported, not which.
TRANSPORT_SETTINGS = frozenset(
    (
        'cache-dir cert client-cert default-timeout disable-pip-version-check log no-cache-dir no-color no-input '
        'no-warn-script-location progress-bar proxy quiet retries root-user-action timeout trusted-host verbose'
    ).split()
)
# Variables that name files, whose contents count instead of their paths.
FILE_VARIABLES = ('PIP_CONFIG_FILE', 'PIP_CONSTRAINT', 'UV_CONSTRAINT')
CONSTRAINT_PATTERN = re.compile(r'^\s*(?:constraint|requirement)\s*[=:]\s*(.+)$', re.MULTILINE)


@dataclass(frozen=True)
class Installation:
    """The facts that determine the third-party packages of an environment, besides this machine's image."""

    requirements: Tuple[str, ...]
    """Normalized and sorted."""
    own_names: Tuple[str, ...]
    """The normalized names of the job's own packages, which satisfy requirements, too."""
    environment: Mapping[str, str]
    """The variables of the installer."""


def environment_key(installation: Installation) -> str:
    """Returns 64 hexadecimal digits. The same on every VM of one image, whatever its paths."""
    inputs: Dict[str, Any] = {
        'version': KEY_VERSION,
        'image': describe_image(),
        'requirements': list(installation.requirements),
        'own': list(installation.own_names),
        'index': describe_index(installation.environment),
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def normalize_name(name: str) -> str:
    """The name as in packaging.python.org/en/latest/specifications/name-normalization."""
    return re.sub(r'[-_.]+', '-', name).lower()


def normalize_requirement(text: str) -> Optional[str]:
    """
    Returns an equal text for equal requirements, or None if it is not by name and version alone: what a URL, a path or
    an option refers to can change without a change of the text.
    """
    found = REQUIREMENT_PATTERN.match(text.strip())
    if found is None or text.strip().lower().endswith(ARCHIVE_SUFFIXES):
        return None
    name, extras, specifiers, marker = found.groups()
    parts = [normalize_name(name)]
    if extras and extras.strip():
        parts.append(f'[{",".join(sorted(normalize_name(extra.strip()) for extra in extras.split(",")))}]')
    parts.append(','.join(sorted(re.sub(r'\s', '', one) for one in specifiers.split(',') if one.strip())))
    if marker and marker.strip():
        parts.append(f';{" ".join(marker.replace(chr(34), chr(39)).split())}')
    return ''.join(parts)


def read_requirements(metadata: str) -> Tuple[str, List[str]]:
    """
    Returns the normalized name of a distribution and its requirements, without those of extras (core metadata
    specification).
    """
    headers = HeaderParser().parsestr(metadata)
    required = [' '.join(value.split()) for value in headers.get_all('Requires-Dist', [])]
    return normalize_name(headers.get('Name', '').strip()), [one for one in required if not EXTRA_MARKER.search(one)]


def name_in(requirement: str) -> str:
    """Returns the normalized name of the distribution that a requirement names."""
    found = re.match(r'[A-Za-z0-9._-]+', requirement)
    return normalize_name(found.group(0) if found else requirement)


def describe_image() -> Dict[str, Any]:
    """Returns what installing depends on in the machine image: interpreter, platform and its packages by version."""
    libc = platform.libc_ver()
    return {
        'python': [sys.implementation.name, sys.version, sysconfig.get_config_var('SOABI') or ''],
        'platform': [sys.platform, platform.machine(), *libc],
        'system': read_text(Path('/etc/os-release')),
        'packages': sorted(set(_distribution_names(sys.path))),
    }


def describe_index(environment: Mapping[str, str]) -> List[str]:
    """Returns the installer's configuration without credentials: variables, files, and the constraints they name."""
    settings = {
        name: value
        for name, value in environment.items()
        if name.startswith(('PIP_', 'UV_')) and not _is_transport(name) and name not in FILE_VARIABLES
    }
    texts = [read_text(path) for path in _configuration_files(environment)]
    named = [path for text in texts for line in CONSTRAINT_PATTERN.findall(text) for path in line.split()]
    named += [path for name in FILE_VARIABLES[1:] for path in environment.get(name, '').split()]
    constraints = [read_text(Path(path)) for path in named]
    variables = [f'{name}={value}' for name, value in sorted(settings.items())]
    return [without_credentials(text) for text in [*variables, *filter(None, texts), *filter(None, constraints)]]


def _is_transport(variable: str) -> bool:
    return variable[len('PIP_') :].lower().replace('_', '-') in TRANSPORT_SETTINGS


def cpu_features() -> str:
    """Returns a hash of this CPU's features, on which locally compiled packages may depend."""
    for line in read_text(Path('/proc/cpuinfo')).splitlines():
        if line.startswith(('flags', 'Features')):
            flags = ' '.join(sorted(line.partition(':')[2].split()))
            return hashlib.sha256(flags.encode()).hexdigest()
    return platform.processor()


def _distribution_names(folders: Sequence[str]) -> Iterable[str]:
    """Yields names such as `numpy-2.2.6.dist-info`, without reading the packages' metadata."""
    for folder in folders:
        try:
            names = os.listdir(folder) if os.path.isdir(folder) else []
        except OSError:
            names = []
        yield from (name for name in names if name.endswith(('.dist-info', '.egg-info')))


def _configuration_files(environment: Mapping[str, str]) -> List[Path]:
    """pip.pypa.io/en/stable/topics/configuration, docs.astral.sh/uv/concepts/configuration-files."""
    home = Path(environment.get('HOME', '/nonexistent'))
    user = Path(environment.get('XDG_CONFIG_HOME', str(home / '.config')))
    system = [Path(folder) for folder in environment.get('XDG_CONFIG_DIRS', '/etc/xdg').split(os.pathsep) if folder]
    given = environment.get('PIP_CONFIG_FILE')
    pip = [
        *(folder / 'pip' / 'pip.conf' for folder in system),
        Path('/etc/pip.conf'),
        home / '.pip' / 'pip.conf',
        user / 'pip' / 'pip.conf',
        Path(sys.prefix) / 'pip.conf',
        *([Path(given)] if given else []),
    ]
    return [*pip, Path('/etc/uv/uv.toml'), user / 'uv' / 'uv.toml']


def read_text(path: Path) -> str:
    """Returns the text of a file; empty if there is none, or if it cannot be read."""
    try:
        return path.read_text('utf-8', 'replace') if path.is_file() else ''
    except OSError:
        return ''
