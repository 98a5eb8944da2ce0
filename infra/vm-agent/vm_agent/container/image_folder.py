"""The folder of an image in which a container runs: what the program writes there is an output as well."""

import os
import posixpath
import shutil
from pathlib import Path
from typing import Iterable, Optional

from vm_agent.container.engine import Engine
from vm_agent.container.layout import open_to_all
from vm_agent.program.exit_report import ExitReport, ReplicaEnded

# For the files of an earlier attempt, 10 GiB at most.
FILL_SECONDS_MAX = 1_800.0


class ImageFolder:
    """
    While the container exists, its files are in the container's own layer on the disk of this machine; before that and
    afterwards, in a folder of this VM.
    """

    def __init__(self, engine: Engine, container: str, path: str, folder: Path) -> None:
        """`path` is absolute, in the container."""
        self._engine = engine
        self._container = container
        self.path = path
        self.folder = folder

    def fill(self) -> None:
        """
        Moves the files of an earlier attempt into a container that was created and has not started. Raises
        ReplicaEnded.
        """
        if not any(self.folder.iterdir()):
            return
        open_to_all(self.folder)
        target = f'{self._container}:{self.path}'
        copied = self._engine.run_tool(['cp', f'{self.folder}/.', target], seconds_max=FILL_SECONDS_MAX)
        if not copied.is_success:
            message = f'The files that an earlier attempt saved could not be copied into the container at {self.path}.'
            raise ReplicaEnded(ExitReport('CONTAINER_NOT_STARTED', message, evidence=tuple(copied.stderr.splitlines())))
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def find_layer(self) -> Optional[Path]:
        """
        Returns the folder of the layer with the files that the container has created or changed; None if the engine
        keeps it where it cannot be read, or if the container runs in its root, which has everything else as well.
        """
        layer = None if self.path == '/' else self._engine.find_layer(self._container)
        if layer is None:
            return None
        for name in posixpath.normpath(self.path).strip('/').split('/'):
            layer = layer / name
            if layer.is_symlink():
                # The program has put it in the place of a folder: it leads elsewhere on this machine.
                return None
        return layer

    def take(self, layer: Path, names: Iterable[str]) -> None:
        """
        Moves files out of the layer of a container that has ended, before it is removed. Repeated after a power failure
        in between, it keeps those that it has moved.
        """
        self.folder.mkdir(exist_ok=True)
        for name in names:
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.rename(layer / name, target)
            except OSError:
                # Another file system.
                shutil.copy2(layer / name, target, follow_symlinks=False)
