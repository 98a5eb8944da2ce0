"""The container engine of this machine: Docker, or another one that has a command `docker`."""

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from vm_agent.program.usage import measure_tree
from vm_agent.setup.environment import ENGINE_ENVIRONMENT

COMMAND = 'docker'
# Answered only by an engine whose daemon works.
PROBE = ('version', '--format', '{{.Server.Version}}')
TOOL_SECONDS_MAX = 60.0
CHECK_SECONDS = 0.2
# Its value is the mark of the VM, by which containers are found whatever ended without removing them.
VM_LABEL = 'dropforge.vm'
# An engine fails to remove a container that another command is removing.
REMOVE_TRIES_MAX = 5
REMOVE_PAUSE_SECONDS = 0.2
SIZE_UNITS = ('', 'k', 'M', 'G', 'T', 'P')
SIZE_PATTERN = re.compile(r'([\d.]+)([kMGTP]?)B')


@dataclass(frozen=True)
class EngineResult:
    return_code: int
    stdout: str
    stderr: str

    @property
    def is_success(self) -> bool:
        return self.return_code == 0


@dataclass(frozen=True)
class Engine:
    version: str
    environment: Mapping[str, str]
    """The variables of the engine's command; never the program's variables."""
    check: Callable[[], None] = lambda: None
    """Called while a command runs, which is killed if it raises an exception."""
    folder: Optional[Path] = None
    """Where commands run, None for the agent's. Podman's monitor writes an empty file `oom` there (conmon 2.1)."""

    def run_tool(
        self, args: Sequence[str], *, stdin: str = '', seconds_max: float = TOOL_SECONDS_MAX
    ) -> EngineResult:
        """Runs a command to its end; one that takes longer or cannot be run has the exit code 125, as the engine's own."""
        pipe, argv, environment = subprocess.PIPE, [COMMAND, *args], dict(self.environment)
        try:
            process = subprocess.Popen(argv, cwd=self.folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            return EngineResult(125, '', str(error))
        with process:
            try:
                stdout, stderr = self._communicate(process, stdin.encode(), seconds_max)
            except subprocess.TimeoutExpired as error:
                process.kill()
                return EngineResult(125, '', str(error))
            except BaseException:
                process.kill()
                raise
        return EngineResult(process.returncode, stdout.decode('utf-8', 'replace'), stderr.decode('utf-8', 'replace'))

    def _communicate(
        self, process: 'subprocess.Popen[bytes]', data: Optional[bytes], seconds_max: float
    ) -> Tuple[bytes, bytes]:
        give_up_at = time.monotonic() + seconds_max
        while True:
            try:
                return process.communicate(data, timeout=CHECK_SECONDS)
            except subprocess.TimeoutExpired:
                # `communicate` keeps the data that was not written yet.
                data = None
                self.check()
                if time.monotonic() > give_up_at:
                    raise

    def has_image(self, reference: str) -> bool:
        return self.run_tool(['image', 'inspect', '--format', '{{.Id}}', reference]).is_success

    def is_answering(self) -> bool:
        return self.run_tool(PROBE).is_success

    def inspect(self, container: str) -> Optional[Mapping[str, Any]]:
        """Returns what the engine says about a container; None if it knows no such container."""
        found = self.run_tool(['container', 'inspect', container])
        try:
            body = json.loads(found.stdout)
            return dict(body[0]) if found.is_success else None
        except (ValueError, LookupError, TypeError):
            return None

    def is_rootless(self) -> bool:
        """Whether root in a container is the user of the agent, and no other user is known to it."""
        return 'rootless' in self.run_tool(['info', '--format', '{{.SecurityOptions}}']).stdout

    def find_layer(self, container: str) -> Optional[Path]:
        """Returns the folder of what a container has written outside of its mounts; None if it cannot be read."""
        return _upper_folder(self.inspect(container) or {})

    def measure_layer(self, container: str) -> Callable[[], int]:
        """Returns what measures the bytes that a container has written outside of its bound folders."""
        body = self.inspect(container) or {}
        upper = _upper_folder(body)
        # A folder that the image declares by VOLUME is not in its layer, and as large as the program makes it.
        volumes = [mount for mount in body.get('Mounts') or () if mount.get('Type') == 'volume']
        sources = [(str(mount.get('Source')), str(mount.get('Name'))) for mount in volumes]
        folders = [Path(folder) for folder, _ in sources if _is_readable(folder)]
        folders += [] if upper is None else [upper]
        others = [name for folder, name in sources if not _is_readable(folder)]
        # Engines that keep layers elsewhere, and those of another user, measure by themselves.
        size = ['container', 'inspect', '--size', '--format', '{{.SizeRw}}', container]

        def measure() -> int:
            layer_bytes = 0 if upper is not None else _to_int(self.run_tool(size).stdout)
            return layer_bytes + _measure(folders) + (self._measure_volumes(others) if others else 0)

        return measure

    def _measure_volumes(self, names: Sequence[str]) -> int:
        """Asks the engine, which reads all of its volumes to answer."""
        found = self.run_tool(['system', 'df', '--verbose', '--format', '{{json .Volumes}}'])
        try:
            return sum(parse_size(volume['Size']) for volume in json.loads(found.stdout) if volume['Name'] in names)
        except (ValueError, LookupError, TypeError):
            return 0

    def remove_containers(self, vm: str) -> bool:
        """Kills and removes all containers of a VM; returns whether none is left."""
        for _ in range(REMOVE_TRIES_MAX):
            listed = self.run_tool(['ps', '--all', '--quiet', '--filter', f'label={VM_LABEL}={vm}'])
            if listed.is_success and not listed.stdout.split():
                return True
            self.run_tool(['rm', '--force', '--volumes', *listed.stdout.split()])
            time.sleep(REMOVE_PAUSE_SECONDS)
        return False


def find_engine(inherited: Mapping[str, str]) -> Optional[Engine]:
    """Returns the engine if it answers; None if there is none. `inherited` is the agent's environment."""
    environment = engine_environment(inherited)
    answer = Engine('', environment).run_tool(PROBE)
    version = answer.stdout.strip()
    return Engine(version, environment) if answer.is_success and version else None


def engine_environment(inherited: Mapping[str, str]) -> Dict[str, str]:
    try:
        own = json.loads(inherited.get(ENGINE_ENVIRONMENT, '{}'))
    except ValueError:
        own = {}
    environment = {**inherited, **{str(name): str(value) for name, value in own.items()}}
    environment.pop(ENGINE_ENVIRONMENT, None)
    return environment


def _upper_folder(body: Mapping[str, Any]) -> Optional[Path]:
    folder = ((body.get('GraphDriver') or {}).get('Data') or {}).get('UpperDir')
    return Path(folder) if folder and _is_readable(folder) else None


def _is_readable(folder: str) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)


def _measure(folders: Sequence[Path]) -> int:
    return sum(measure_tree(folder, folder / 'none') for folder in folders)


def parse_size(text: str) -> int:
    """Reads what Docker prints: 38.8MB. Raises ValueError."""
    matched = SIZE_PATTERN.fullmatch(text.strip())
    if matched is None:
        raise ValueError(f'{text!r} is not a size.')
    return round(float(matched[1]) * 1_000 ** SIZE_UNITS.index(matched[2]))


def _to_int(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        # The container is gone.
        return 0
