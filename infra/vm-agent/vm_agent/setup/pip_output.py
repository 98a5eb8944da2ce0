"""Reads in pip's output about a requirement that it could not install."""

import re
import sys
from typing import List, Optional, Sequence, Tuple

VERSIONS_PATTERN = re.compile(r'satisfies the requirement ([^\n(]+?) \(from versions: ([^)]*)\)')
VERSION_PATTERN = re.compile(r'(\d+(?:\.\d+)*)(.*)')
# In pip's last error, after its retries: no connection, or no address of the name.
UNREACHABLE_PATTERN = re.compile(
    r"host='([\w.-]+)', port=\d+\): Max retries exceeded .{1,999}\(Caused by (?:NewConnection|ConnectTimeout|NameResolution)Error"
    r'|fatal: unable to access .{1,999}: (?:Could not resolve host: |Failed to connect to )([\w.-]+)'
)
CONFLICT_START = 'The conflict is caused by:'
CONFLICT_LINES_MAX = 4


def find_unreachable_host(lines: Sequence[str]) -> str:
    """Returns the host to which pip, or git for it, could not connect; empty if each host answered."""
    found = UNREACHABLE_PATTERN.search('\n'.join(lines))
    return '' if found is None else found.group(1) or found.group(2)


def describe_missing(requirement: str, lines: Sequence[str]) -> str:
    """
    Returns the reason why a requirement is missing: `requirement tensorflow==2.8.0 is missing`, and, if pip lists the
    versions that exist for this Python, the nearest one.
    """
    text = f'requirement {requirement} is missing'
    found = VERSIONS_PATTERN.search('\n'.join(lines))
    if found is None:
        return text
    versions = _final_versions(found.group(2))
    nearest = find_nearest(found.group(1), versions)
    python = f'{sys.version_info[0]}.{sys.version_info[1]}'
    if nearest is None:
        return text
    known = f' (of {versions[0]} to {versions[-1]})' if len(versions) > 1 else ''
    return f'{text}: no version of it that exists for Python {python} fits. The nearest one is {nearest}{known}'


def describe_conflict(lines: Sequence[str]) -> Optional[str]:
    """Returns which requirements contradict each other, or None if pip did not report a conflict."""
    stripped = [line.strip() for line in lines]
    if CONFLICT_START not in stripped:
        return None
    start = stripped.index(CONFLICT_START) + 1
    reasons: List[str] = []
    for line in stripped[start:]:
        if not line or line.startswith('To fix'):
            break
        reasons.append(line)
    more = '' if len(reasons) <= CONFLICT_LINES_MAX else f'; and {len(reasons) - CONFLICT_LINES_MAX} more'
    return f'requirements contradict each other: {"; ".join(reasons[:CONFLICT_LINES_MAX])}{more}'


def find_nearest(requirement: str, versions: Sequence[str]) -> Optional[str]:
    """
    Returns the lowest of the sorted versions that is not lower than the one the requirement names, or the highest one;
    None if the requirement names no version, or there is none.
    """
    wanted = re.search(r'[=<>~!]=?=?\s*(\d[\w.]*)', requirement)
    if wanted is None or not versions:
        return None
    release = _release(wanted.group(1))
    return next((version for version in versions if _release(version) >= release), versions[-1])


def _final_versions(text: str) -> List[str]:
    """Sorted; pre-releases only if there are no others."""
    versions = [version.strip() for version in text.split(',') if re.match(r'\d', version.strip())]
    final = [version for version in versions if re.fullmatch(r'[\d.]+(?:\.post\d+)?', version)]
    return sorted(final or versions, key=_release)


def _release(version: str) -> Tuple[int, ...]:
    """Without trailing zeros: 2.8 is 2.8.0."""
    found = VERSION_PATTERN.match(version)
    numbers = [int(part) for part in found.group(1).split('.')] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
