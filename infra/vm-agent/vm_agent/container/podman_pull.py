"""Pulls an image with Podman from a relay on this machine, under its own name (man containers-registries.conf)."""

import shutil
from pathlib import Path
from typing import Callable, Mapping, Sequence

from vm_agent.container.pull_failure import PullError
from vm_agent.container.registry import Credentials, Repository
from vm_agent.container.relay import Relay
from vm_agent.container.transfer import PullProgress
from vm_agent.http.retry import RetryPolicy
from vm_agent.setup.installers import ToolResult

RunPodman = Callable[[Sequence[str], Mapping[str, str]], ToolResult]
"""Runs Podman with further variables; raises ReplicaEnded if the VM is told to stop in the meantime."""


class PodmanPull:
    def __init__(self, image: str, credentials: Credentials, progress: PullProgress) -> None:
        self._image = image
        self._credentials = credentials
        self._progress = progress
        self.digests: Sequence[str] = ()
        """Of all layers, once Podman has asked for the manifest."""

    def run(self, run_podman: RunPodman, folder: Path, policy: RetryPolicy) -> None:
        """Raises PullError with what the registry said, or else Podman."""
        name = self._image.split('@', 1)[0]
        host, _, repository = name.partition('/')
        settings, downloads = folder / 'registries.conf', folder / 'layers'
        downloads.mkdir(exist_ok=True)
        # Podman leaves its downloads in TMPDIR if it is killed.
        variables = {'CONTAINERS_REGISTRIES_CONF': str(settings), 'TMPDIR': str(downloads)}
        with Relay(Repository(host, repository, self._credentials), self._progress, policy) as relay:
            location = f'{relay.address}/{repository}'
            settings.write_text(f'[[registry]]\nprefix = "{name}"\nlocation = "{location}"\ninsecure = true\n')
            try:
                result = run_podman(['pull', '--quiet', self._image], variables)
            finally:
                settings.unlink(missing_ok=True)
                shutil.rmtree(downloads, ignore_errors=True)
                self.digests = tuple(relay.sizes)
        if result.exit_code != 0:
            raise PullError('\n'.join(relay.failures[-3:] or result.lines or ('Podman failed without a message.',)))
