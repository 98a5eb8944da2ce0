"""The login to the registry of an image: whose it is, and how the command `docker` gets it."""

import base64
import json
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Dict, Iterator, Mapping, Optional, Tuple

from vm_agent.container.engine import Engine

GOOGLE_HOST = re.compile(r'(?:[a-z0-9-]+\.)*(?:pkg\.dev|gcr\.io)')
# The name of the registry of these names in Docker's configuration.
DOCKER_HUB = 'https://index.docker.io/v1/'
DOCKER_HUB_HOSTS = ('docker.io', 'index.docker.io', 'registry-1.docker.io')
CONFIG_FOLDER = 'docker-config'

Credentials = Optional[Tuple[str, str]]
"""User and password."""


def is_google_host(host: str) -> bool:
    """Whether the host is of Artifact Registry or Container Registry, which may see the VM's access token."""
    return GOOGLE_HOST.fullmatch(host) is not None


@contextmanager
def logged_in(
    engine: Engine, image: str, credentials: Credentials, *, folder: Path, warn: Callable[[str], None]
) -> Iterator[Mapping[str, str]]:
    """
    Yields the environment in which the engine's command logs in to the registry of this image with these credentials,
    and to every other one without any. They are in a file in memory that belongs to this process: nothing is left of
    it however the process ends.
    """
    config = folder / CONFIG_FOLDER
    # The folder of an agent that was killed.
    shutil.rmtree(config, ignore_errors=True)
    config.mkdir(mode=0o700)
    descriptor = -1
    try:
        path = config / 'config.json'
        if hasattr(os, 'memfd_create'):
            descriptor = os.memfd_create(CONFIG_FOLDER)
            os.fchmod(descriptor, 0o600)
            path.symlink_to(f'/proc/{os.getpid()}/fd/{descriptor}')
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            if credentials is not None:
                warn(f'This machine has no files in memory: the login is in {path} until the pull ends.')
        os.write(descriptor, json.dumps(_configuration(image.split('/', 1)[0], credentials)).encode())
        yield {**engine.environment, **_address(engine), 'DOCKER_CONFIG': str(config)}
    finally:
        if descriptor >= 0:
            os.close(descriptor)
        shutil.rmtree(config, ignore_errors=True)


def _configuration(host: str, credentials: Credentials) -> Mapping[str, object]:
    """Without any login, Docker would ask a credential helper that it finds on the machine for the user's own."""
    login = {} if credentials is None else {'auth': base64.b64encode(':'.join(credentials).encode()).decode('ascii')}
    return {'auths': {DOCKER_HUB if host in DOCKER_HUB_HOSTS else host: login}}


def _address(engine: Engine) -> Dict[str, str]:
    """Returns where the daemon is: the user's own configuration, which can name it, is not read during the pull."""
    found = engine.run_tool(['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'])
    address = found.stdout.strip()
    return {'DOCKER_HOST': address} if found.is_success and address else {}
