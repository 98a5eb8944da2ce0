"""
A way into the environment of the program: the agent writes it to a file that only its user can read, and
`agent.pyz enter` runs a command in it (docs/shell.md).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from vm_agent.container.engine import COMMAND, Engine
from vm_agent.container.invocation import Invocation, split_variables
from vm_agent.setup.environment import VM_MARKER

DEFAULT_HOME = Path('/var/lib/dropforge')
# In memory: the variables include secrets, which are on no disk of a VM.
MEMORY_FOLDER = Path('/run/dropforge')
FILE_NAME = 'enter.json'
# The exit codes that `docker exec` and shells use.
NOT_ENTERED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
# The variables that describe the caller's terminal.
TERMINAL_VARIABLES = ('TERM', 'COLORTERM', 'LANG', 'LC_ALL', 'LINES', 'COLUMNS')
ANY_SHELL = ('sh', '-c', 'exec "$(command -v bash || echo sh)"')


def write_entry(home: Path, environment: Mapping[str, str], folder: Path) -> None:
    """Lets commands enter the program that is about to start on the VM itself."""
    _write(home, {'environment': dict(environment), 'folder': str(folder), 'container': None})


def write_container_entry(home: Path, engine: Engine, invocation: Invocation) -> None:
    """Does the same as `write_entry` for a program in a container."""
    container = {
        'engineEnvironment': dict(engine.environment),
        'name': invocation.name,
        'image': invocation.image,
        # Without the name and the entry point.
        'arguments': invocation.arguments()[2:-2],
    }
    _write(home, {'environment': dict(invocation.variables), 'folder': '', 'container': container})


def remove_entry(home: Path) -> None:
    _file_of(home).unlink(missing_ok=True)


def enter(home: Path, command: Sequence[str]) -> int:
    """Runs the command, or a shell, with this process's terminal or pipes; returns its exit code."""
    try:
        entry = json.loads(_file_of(home).read_text('utf-8'))
    except FileNotFoundError:
        print('The program of this VM has not been started: this is the environment of the VM.', file=sys.stderr)
        entry = {'environment': dict(os.environ), 'folder': str(home), 'container': None}
    except PermissionError:
        print('The environment of the program can be read by the user of the agent only: use sudo.', file=sys.stderr)
        return NOT_ENTERED
    terminal = {name: os.environ[name] for name in TERMINAL_VARIABLES if name in os.environ}
    if entry['container'] is not None:
        # The engine may write there: see Engine.folder.
        os.chdir(home)
        return _enter_container(entry['container'], entry['environment'], terminal, command)
    # The mark of the VM without that of its program, with which the agent would end this process.
    mark = os.environ.get(VM_MARKER) or entry['environment'].get(VM_MARKER, '').split('@')[0]
    environment = {**entry['environment'], **terminal, VM_MARKER: mark}
    shell = shutil.which('bash', path=environment.get('PATH')) or '/bin/sh'
    argv = list(command) or [shell]
    try:
        os.chdir(entry['folder'])
        sys.stderr.flush()
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        print(f'{argv[0]} cannot be run: {error.strerror}.', file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def _enter_container(
    container: Mapping[str, Any], program: Mapping[str, str], terminal: Mapping[str, str], command: Sequence[str]
) -> int:
    mark = {VM_MARKER: os.environ[VM_MARKER]} if VM_MARKER in os.environ else {}
    engine = Engine('', {**container['engineEnvironment'], **mark})
    flags = ['--interactive', '--tty'] if sys.stdin.isatty() and sys.stdout.isatty() else ['--interactive']
    is_running = _is_running(engine, container['name'])
    # A running container has the variables of the program.
    variables = terminal if is_running else {**program, **terminal}

    def run(argv: Sequence[str], options: Sequence[str], output: Optional[int] = None) -> int:
        if is_running:
            head, rest = ['exec', *options], [container['name'], *argv]
        else:
            head = ['run', '--rm', *options, '--name', f'{container["name"]}-shell-{os.getpid()}']
            rest = [*container['arguments'], '--entrypoint', argv[0], container['image'], *argv[1:]]
        return _run_engine(engine, [head, rest], variables, output)

    # An interrupt of the terminal is the command's.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = run(list(command) or ANY_SHELL, flags)
    # A shell ends with these codes, too, after a command that it did not find.
    if not command and code in (NOT_EXECUTABLE, NOT_FOUND) and run(('sh', '-c', ':'), (), subprocess.DEVNULL) != 0:
        print('The image has no shell. Name a program of the image: dropforge exec JOB -- PROGRAM.', file=sys.stderr)
    return code if code >= 0 else 128 - code


def _run_engine(
    engine: Engine, parts: Sequence[Sequence[str]], variables: Mapping[str, str], output: Optional[int]
) -> int:
    """The variables are passed between the two parts. Its stdin is the caller's: a file of variables is in memory."""
    descriptor = os.memfd_create('variables')
    arguments, environment, text = split_variables(engine, variables, f'/proc/self/fd/{descriptor}')
    with open(descriptor, 'w', encoding='utf-8') as file:
        file.write(text)
        file.flush()
        return subprocess.call(
            [COMMAND, *parts[0], *arguments, *parts[1]],
            env=environment,
            stdout=output,
            stderr=output,
            pass_fds=[descriptor],
            preexec_fn=_restore_interrupts,
        )


def _restore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _is_running(engine: Engine, name: str) -> bool:
    shown = engine.run_tool(['container', 'inspect', '--format', '{{.State.Running}}', name])
    return shown.stdout.strip() == 'true'


def _file_of(home: Path) -> Path:
    return (MEMORY_FOLDER if home == DEFAULT_HOME else home) / FILE_NAME


def _write(home: Path, body: Mapping[str, Any]) -> None:
    path = _file_of(home)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w', encoding='utf-8') as file:
        json.dump(body, file)
