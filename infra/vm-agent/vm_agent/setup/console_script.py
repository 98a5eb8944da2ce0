"""Commands that packages install, such as torchrun, with the Python of the job."""

import subprocess
from pathlib import Path
from typing import List, Mapping, Optional

PROBE_SECONDS_MAX = 60
# entry_points(group=...) exists since Python 3.10.
PROBE = """
import sys
from importlib.metadata import entry_points
found = entry_points()
scripts = found.select(group='console_scripts') if hasattr(found, 'select') else found.get('console_scripts', ())
print(next((one.value for one in scripts if one.name == sys.argv[1]), ''))
"""
RUN = 'import sys; from {module} import {name}; sys.argv[0] = {command!r}; sys.exit({attribute}())'


def find_console_script(python: Path, command: str, environment: Mapping[str, str]) -> Optional[List[str]]:
    """
    Returns the command line of a console script (packaging.python.org, "Entry points") that the job's Python knows and
    the job has not installed itself. The script in the machine image would run with the image's Python, which does not
    have the job's requirements. None if the command is none, or is in the virtual environment.
    """
    if '/' in command or (python.parent / command).exists():
        return None
    argv = [str(python), '-c', PROBE, command]
    try:
        found = subprocess.run(
            argv,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    module, _, attribute = found.stdout.decode('utf-8', 'replace').strip().partition('[')[0].strip().partition(':')
    if not module or not attribute:
        return None
    name = attribute.split('.')[0]
    return [str(python), '-c', RUN.format(module=module, name=name, command=command, attribute=attribute)]
