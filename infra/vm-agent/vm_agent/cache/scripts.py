"""The first lines of the scripts that an installer writes, which name the interpreter by its path."""

from pathlib import Path

from vm_agent.program.foreign_files import open_regular

# The kernel's limit on the line that names an interpreter (BINPRM_BUF_SIZE in linux/binfmts.h, with the newline).
SHEBANG_BYTES_MAX = 127
# In a cached environment: the path of the interpreter of the virtual environment in which it was installed.
ORIGIN_FILE = 'dropforge-interpreter'
ORIGIN_BYTES_MAX = 4_096
# Larger than any script that an installer writes.
SCRIPT_BYTES_MAX = 1_048_576


def write_origin(venv: Path) -> None:
    (venv / ORIGIN_FILE).write_text(str(venv / 'bin' / 'python'), 'utf-8')


def read_origin(venv: Path) -> str:
    """Reads and removes the file. Raises OSError or ValueError, also if it is not a regular file."""
    # An archive can have a pipe or a link in its place.
    with open_regular(venv / ORIGIN_FILE) as file:
        python = file.read(ORIGIN_BYTES_MAX).decode()
    (venv / ORIGIN_FILE).unlink()
    return python


def relocate_script(script: Path, old_python: str, new_python: str) -> None:
    """
    Replaces the interpreter of another virtual environment in a file, if it starts with one. A path that is too long
    for the kernel, or has a space, is executed by a shell, as pip and uv write it.
    """
    if script.stat().st_size > SCRIPT_BYTES_MAX:
        return
    body = script.read_bytes()
    if not body.startswith(b'#!'):
        return
    for old in {old_python, old_python + '3'}:
        plain = f'#!{old}\n'
        through_shell = f"#!/bin/sh\n'''exec' \"{old}\" \"$0\" \"$@\"\n' '''\n"
        unquoted = f"#!/bin/sh\n'''exec' {old} \"$0\" \"$@\"\n' '''\n"
        for header in (one.encode() for one in (plain, through_shell, unquoted)):
            if body.startswith(header):
                script.write_bytes(_shebang(new_python) + body[len(header) :])
                return


def _shebang(python: str) -> bytes:
    line = f'#!{python}\n'.encode()
    if len(line) <= SHEBANG_BYTES_MAX and b' ' not in line:
        return line
    return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n".encode()
