"""The view and the rights of a container, as arguments of the engine's `create`."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from vm_agent.container.engine import VM_LABEL, Engine
from vm_agent.program.exit_report import ExitReport, ReplicaEnded

# Those by which an entry point becomes another user, and root writes to folders of the image that others own. Not among
# them: raw sockets, devices, low ports of the machine's network, which the container shares.
CAPABILITIES = ('CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID')
# Threads count, and data loaders have many.
PIDS_MAX = 32_768
CPU_SHARES = 1_024
# The kernel's weights of nice levels differ by this factor (sched(7)).
NICE_FACTOR = 1.25
# The engine's own command, or its loader and C library, would read them from its environment, in which the container's
# variables are passed.
ENGINE_VARIABLES = re.compile(
    r'(PATH|HOME|TMPDIR|USER|LD_.*|GLIBC_.*|GCONV_.*|LOCPATH|NLSPATH|HOSTALIASES|RES_OPTIONS|MALLOC_.*|BASH_ENV|ENV|'
    r'GO(DEBUG|GC|MEMLIMIT|MAXPROCS|TRACEBACK|COVERDIR)|DOCKER_.*|_?CONTAINER.*|PODMAN_.*|STORAGE_.*|REGISTR.*|'
    r'NOTIFY_SOCKET|LISTEN_.*|DBUS_.*|SSH_.*|OTEL_.*|XDG_.*|BUILDKIT.*)\Z'
)


@dataclass(frozen=True)
class Mount:
    source: Path
    target: str
    is_read_only: bool = False

    def __str__(self) -> str:
        """The value of `--mount`, which is a line of CSV."""
        fields = ['type=bind', f'source={self.source}', f'target={self.target}']
        line = io.StringIO()
        csv.writer(line, lineterminator='').writerow([*fields, *(['readonly'] if self.is_read_only else [])])
        return line.getvalue()


@dataclass(frozen=True)
class Invocation:
    name: str
    vm: str
    """The mark of the VM, unique on this machine."""
    image: str
    argv: Sequence[str]
    variables: Mapping[str, str]
    mounts: Sequence[Mount]
    working_directory: Optional[str]
    """None for the image's."""
    user: Optional[str]
    """None for the image's."""
    shm_bytes: int
    memory_bytes: Optional[int]
    nice: int
    devices: Sequence[str]
    """Arguments for GPUs."""

    def arguments(self) -> List[str]:
        """Returns the arguments without variables; see `split_variables`."""
        options = [
            *('--name', self.name, '--label', f'{VM_LABEL}={self.vm}', '--pull', 'never'),
            # Replicas and the metadata server are reached as on the VM; see docs/adr/0037.
            *('--network', 'host', '--log-driver', 'none', '--no-healthcheck'),
            # The agent sends SIGTERM whatever the image names.
            *('--stop-signal', 'SIGTERM'),
            # An init as the first process reaps orphans, and passes signals on to the program, which then has their
            # default actions: the kernel ignores a signal to a first process that has no handler for it.
            '--init',
            *('--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--security-opt', 'label=disable'),
            *('--pids-limit', str(PIDS_MAX), '--shm-size', str(self.shm_bytes)),
        ]
        for capability in CAPABILITIES:
            options += ['--cap-add', capability]
        for mount in self.mounts:
            options += ['--mount', str(mount)]
        if self.nice > 0:
            options += ['--cpu-shares', str(max(2, int(CPU_SHARES / NICE_FACTOR**self.nice)))]
        if self.memory_bytes is not None:
            options += ['--memory', str(self.memory_bytes), '--memory-swap', str(self.memory_bytes)]
        options += ['--user', self.user] if self.user is not None else []
        options += ['--workdir', self.working_directory] if self.working_directory is not None else []
        return [*options, *self.devices, '--entrypoint', self.argv[0]]


def split_variables(
    engine: Engine, variables: Mapping[str, str], file: str = '/dev/stdin'
) -> Tuple[List[str], Dict[str, str], str]:
    """
    Returns arguments, the environment of the engine's command, and the text of the environment file at `file`: no value
    is in a list of processes or on the disk. A file has no values of several lines; they are passed from the
    environment, as are all whose names the engine's command does not use itself. Raises ReplicaEnded.
    """
    arguments: List[str] = []
    environment = dict(engine.environment)
    lines: List[str] = []
    for name, value in variables.items():
        is_engines = ENGINE_VARIABLES.match(name) is not None
        has_lines = '\n' in value or '\r' in value
        if is_engines and has_lines:
            message = f'The variable {name} has a value of several lines, which no container can be given. Rename it.'
            raise ReplicaEnded(ExitReport('CONTAINER_NOT_STARTED', message))
        if is_engines or (environment.get(name, value) != value and not has_lines):
            lines.append(f'{name}={value}\n')
        else:
            arguments += ['--env', name]
            environment[name] = value
    if lines:
        arguments += ['--env-file', file]
    return arguments, environment, ''.join(lines)
