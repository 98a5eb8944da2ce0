"""Puts `hook` into the virtual environment of the program, where the interpreter loads it at its start."""

import pkgutil
from pathlib import Path
from typing import Tuple

PACKAGE = 'dropforge_paths'
SHARED = 'shared'
# A line of a .pth file that begins with `import` is executed (docs.python.org/3/library/site.html). Every interpreter
# would print an error in it, pip's too.
START_LINE = f'import {PACKAGE}\n'
# Whatever the interpreter is, the program works as without it.
START = '''try:
    import os
    from dropforge_paths.hook import install
    with open(os.path.join(os.path.dirname(__file__), 'settings'), encoding='utf-8') as file:
        settings = file.read().split('\\0')
    after_import = install(*settings[:3], settings[4] == 'shared')
    from dropforge_paths import main_end, stacks
    stacks.register(settings[3])
    main_end.register(settings[3], after_import)
except Exception:
    pass
'''
# Python executes no .pth files in the folders of PYTHONPATH, but the first module of this name, which hides an image's
# own one.
SITE_CUSTOMIZATION = '''import os
import sys

import dropforge_paths

for folder in sys.path:
    path = os.path.join(folder, 'sitecustomize.py')
    if os.path.isfile(path) and not os.path.samefile(path, __file__):
        with open(path) as file:
            exec(compile(file.read(), path, 'exec'), {'__name__': __name__, '__file__': path})
        break
'''


def stack_dump_file(venv: Path) -> Path:
    """Where the program's processes write their stacks when the agent asks for them. Raises ValueError."""
    (site_packages,) = venv.glob('lib/python*/site-packages')
    return site_packages / PACKAGE / 'stack_dumps'


def install_path_hook(venv: Path, job_dir: str, output: Path, cache: Path, is_shared: bool = False) -> None:
    """Writes the hook and the job's settings; replaces those of an earlier job. Raises OSError."""
    (site_packages,) = venv.glob('lib/python*/site-packages')
    folder = site_packages / PACKAGE
    settings = (job_dir, str(output), str(cache), str(folder / 'stack_dumps'), SHARED if is_shared else '')
    _write_package(folder, settings)
    (site_packages / f'{PACKAGE}.pth').write_text(START_LINE, 'utf-8')


def install_container_hook(folder: Path, settings: Tuple[str, ...]) -> None:
    """Writes the hook to a folder for PYTHONPATH. `settings` are those of `install` and `register`. Raises OSError."""
    _write_package(folder / PACKAGE, settings)
    (folder / 'sitecustomize.py').write_text(SITE_CUSTOMIZATION, 'utf-8')


def read_source(name: str) -> bytes:
    """Returns a module of this package, which runs in the program's interpreter."""
    source = pkgutil.get_data('vm_agent.paths', f'{name}.py')
    assert source is not None
    return source


def _write_package(folder: Path, settings: Tuple[str, ...]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ('hook', 'bucket_objects', 'library_patches', 'stacks', 'main_end'):
        (folder / f'{name}.py').write_bytes(read_source(name))
    (folder / 'settings').write_text('\0'.join(settings), 'utf-8')
    (folder / '__init__.py').write_text(START, 'utf-8')
