"""Puts `hook` into the virtual environment of the program, where the interpreter loads it at its start."""

import pkgutil
from pathlib import Path

PACKAGE = 'dropforge_paths'
# A line of a .pth file that begins with `import` is executed (docs.python.org/3/library/site.html). Every interpreter
# would print an error in it, pip's too.
START_LINE = f'import {PACKAGE}\n'
START = '''try:
    import os
    from dropforge_paths.hook import install
    with open(os.path.join(os.path.dirname(__file__), 'settings'), encoding='utf-8') as file:
        install(*file.read().split('\\0'))
    from dropforge_paths.stacks import register
    register(os.path.join(os.path.dirname(__file__), 'stack_dumps'))
except (ImportError, OSError, ValueError, TypeError, AttributeError, RuntimeError):
    pass
'''


def stack_dump_file(venv: Path) -> Path:
    """Where the program's processes write their stacks when the agent asks for them. Raises ValueError."""
    (site_packages,) = venv.glob('lib/python*/site-packages')
    return site_packages / PACKAGE / 'stack_dumps'


def install_path_hook(venv: Path, job_dir: str, output: Path, cache: Path) -> None:
    """Writes the hook and the job's settings; replaces those of an earlier job. Raises OSError."""
    (site_packages,) = venv.glob('lib/python*/site-packages')
    folder = site_packages / PACKAGE
    folder.mkdir(exist_ok=True)
    for name in ('hook', 'bucket_objects', 'stacks'):
        source = pkgutil.get_data('vm_agent.paths', f'{name}.py')
        assert source is not None
        (folder / f'{name}.py').write_bytes(source)
    (folder / 'settings').write_text('\0'.join([job_dir, str(output), str(cache)]), 'utf-8')
    (folder / '__init__.py').write_text(START, 'utf-8')
    (site_packages / f'{PACKAGE}.pth').write_text(START_LINE, 'utf-8')
