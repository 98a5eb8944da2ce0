"""The first lines of the scripts that an installer writes, which name the interpreter by its path."""

# The kernel's limit on the line that names an interpreter (BINPRM_BUF_SIZE in linux/binfmts.h, with the newline).
SHEBANG_BYTES_MAX = 127


def relocate_script(script: bytes, old_python: str, new_python: str) -> bytes:
    """
    Returns the script with the interpreter of another virtual environment; unchanged if it does not start with one. A
    path that is too long for the kernel, or has a space, is executed by a shell, as pip and uv write it.
    """
    for old in {old_python, old_python + '3'}:
        plain = f'#!{old}\n'.encode()
        if script.startswith(plain):
            return _shebang(new_python) + script[len(plain) :]
        through_shell = f"#!/bin/sh\n'''exec' \"{old}\" \"$0\" \"$@\"\n' '''\n".encode()
        unquoted = f"#!/bin/sh\n'''exec' {old} \"$0\" \"$@\"\n' '''\n".encode()
        for header in (through_shell, unquoted):
            if script.startswith(header):
                return _shebang(new_python) + script[len(header) :]
    return script


def _shebang(python: str) -> bytes:
    line = f'#!{python}\n'.encode()
    if len(line) <= SHEBANG_BYTES_MAX and b' ' not in line:
        return line
    return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n".encode()
