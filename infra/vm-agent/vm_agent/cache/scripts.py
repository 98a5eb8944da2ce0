"""The first lines of the scripts that an installer writes, which name the interpreter by its path."""

from pathlib import Path

# The kernel's limit on the line that names an interpreter (BINPRM_BUF_SIZE in linux/binfmts.h, with the newline).
SHEBANG_BYTES_MAX = 127
# In a cached environment: the path of the interpreter of the virtual environment in which it was installed.
ORIGIN_FILE = 'dropforge-interpreter'


def relocate_script(script: Path, old_python: str, new_python: str) -> None:
    """
    Replaces the interpreter of another virtual environment in a file, if it starts with one. A path that is too long
    for the kernel, or has a space, is executed by a shell, as pip and uv write it.
    """
    with open(script, 'rb') as file:
        if file.read(2) != b'#!':
            return
    body = script.read_bytes()
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
