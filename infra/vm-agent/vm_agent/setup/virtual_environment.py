"""The virtual environment of a job, which includes the machine image's packages."""

import shutil
import site
import sys
import venv
from pathlib import Path


def create_venv(folder: Path) -> None:
    """Creates it without any packages of its own; replaces an existing one."""
    # The image's pip works in the environment through system_site_packages; installing one takes 3 s.
    shutil.rmtree(folder, ignore_errors=True)
    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(folder)
    if sys.prefix != sys.base_prefix:
        # The image's Python is a virtual environment itself, whose packages are not in the system's site-packages.
        (site_packages,) = folder.glob('lib/python*/site-packages')
        (site_packages / 'image.pth').write_text('\n'.join(site.getsitepackages()), 'utf-8')
