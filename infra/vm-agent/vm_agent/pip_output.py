"""What went wrong, from what pip printed."""

import re
from typing import Optional, Sequence

MISSING_PATTERNS = (
    r'No matching distribution found for ([^\n]+)',
    r'Could not find a version that satisfies the requirement ([^\n(]+)',
    r"No module named '?([\w.]+)'?",
    r"Cannot import '([\w.]+)'",
    r"invalid command '(bdist_wheel)'",
)


def find_missing(lines: Sequence[str]) -> Optional[str]:
    """The requirement that pip looked for in vain, or None where it stopped at something else."""
    text = '\n'.join(lines)
    for pattern in MISSING_PATTERNS:
        found = re.search(pattern, text)
        if found:
            return found.group(1).split(' (from')[0].strip().rstrip('.')
    return None


def find_error(lines: Sequence[str]) -> str:
    """The line that says most about a failure that is not a missing requirement."""
    exceptions = [line.strip() for line in lines if re.match(r'\s*[\w.]*(Error|Exception)\b.*:', line)]
    errors = [line.strip() for line in lines if re.match(r'\s*(ERROR|error):', line)]
    return (exceptions or errors or [line.strip() for line in lines if line.strip()] or ['pip said nothing'])[-1]
