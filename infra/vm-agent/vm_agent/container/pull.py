"""Downloads the image of a container by its digest, with the machine's engine."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Mapping, Sequence

from vm_agent.container.engine import COMMAND, Engine
from vm_agent.container.login import Credentials, is_google_host, logged_in
from vm_agent.container.pull_failure import classify, report_of
from vm_agent.container.pull_space import DiskAllowance, PullSpace, format_bytes
from vm_agent.container.spec import ContainerSpec
from vm_agent.http.retry import RetryPolicy, call_with_retry
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.installers import ToolResult

GOOGLE_USER = 'oauth2accesstoken'
ARCHITECTURES = {'x86_64': 'amd64', 'amd64': 'amd64', 'aarch64': 'arm64', 'arm64': 'arm64'}


@dataclass(frozen=True)
class RegistryAccess:
    """The credentials and names that registries may know of the VM."""

    access_token: Callable[[], str]
    """The service account's, without `Bearer`. Raises TransientError."""
    account: Callable[[], str]
    """The service account's e-mail address, for messages."""
    read_secret: Callable[[str, RetryPolicy], str]
    """Reads and masks a secret version. Raises ReplicaEnded or TransientError."""


@dataclass(frozen=True)
class PullContext:
    folder: Path
    """For files that exist during the pull only."""
    policy: RetryPolicy
    run: Callable[[Sequence[str], Mapping[str, str]], ToolResult]
    """Runs a command line with these variables; raises ReplicaEnded if the VM is told to stop in the meantime."""
    disk: DiskAllowance
    check: Callable[[], None]
    """Raises ReplicaEnded if the VM is told to stop."""
    access: RegistryAccess
    mask: Mask
    log: Callable[[str, str], None]
    pauses_seconds: Sequence[float] = (20.0, 100.0)
    """Before the second and the third try, the last one. Docker itself resumes connections that are cut."""


def pull_image(engine: Engine, spec: ContainerSpec, context: PullContext) -> None:
    """
    Returns when the engine has the image. Raises ReplicaEnded with IMAGE_PULL_FAILED, DISK_TOO_SMALL,
    SECRET_UNAVAILABLE or SERVICE_UNREACHABLE, and TransientError if Google's services fail.
    """
    if engine.has_image(spec.image):
        context.log(f'The image {spec.image} is on this machine: nothing is pulled.', 'INFO')
        return
    space = PullSpace(engine, spec, context.disk)
    space.check_before()
    context.log(f'Pulling the image {spec.image}: {format_bytes(spec.size_bytes)} compressed.', 'INFO')
    _pull(engine, spec, context)
    space.check_after()
    _check_architecture(engine, spec)
    context.log(f'Pulled the image {spec.image}.', 'INFO')


def _pull(engine: Engine, spec: ContainerSpec, context: PullContext) -> None:
    for pause_seconds in (*context.pauses_seconds, None):
        credentials = call_with_retry(lambda: resolve_credentials(spec, context), context.policy)
        warn = lambda text: context.log(text, 'WARNING')
        with logged_in(engine, spec.image, credentials, folder=context.folder, warn=warn) as environment:
            result = context.run([COMMAND, 'pull', '--quiet', spec.image], environment)
        if result.exit_code == 0:
            return
        # A reason to stop takes precedence.
        context.check()
        text = context.mask('\n'.join(result.lines)) or 'Docker failed without a message.'
        failure = classify(text)
        if not failure.is_retried or pause_seconds is None:
            account, disk_remedy = context.access.account(), context.disk.remedy
            raise ReplicaEnded(report_of(failure, text, spec, account, disk_remedy))
        context.log(f'The pull failed and is tried again: {text.splitlines()[-1]}', 'WARNING')
        context.policy.cancelled.wait(pause_seconds)
        context.check()


def resolve_credentials(spec: ContainerSpec, context: PullContext) -> Credentials:
    """Returns user and password, which are masked from now on; None for an anonymous pull. Raises ReplicaEnded."""
    if spec.credentials == 'GOOGLE' and is_google_host(spec.image.split('/', 1)[0]):
        token = context.access.access_token()
        context.mask.add(token)
        return GOOGLE_USER, token
    if spec.credentials != 'SECRET' or spec.credentials_secret is None:
        return None
    user, colon, password = context.access.read_secret(spec.credentials_secret, context.policy).strip().partition(':')
    if not colon or not user or not password:
        message = f'The secret {spec.credentials_secret} for the registry does not have the form USER:PASSWORD.'
        raise ReplicaEnded(ExitReport('SECRET_UNAVAILABLE', message))
    context.mask.add(password)
    return user, password


def _check_architecture(engine: Engine, spec: ContainerSpec) -> None:
    """Engines pull an image of another architecture with a warning, and it fails at its first instruction."""
    found = engine.run_tool(['image', 'inspect', '--format', '{{.Architecture}}', spec.image]).stdout.strip()
    own = ARCHITECTURES.get(platform.machine().lower())
    if found and own is not None and found != own:
        message = f'The image {spec.image} is for {found}, but the VM has {own}. Build the image for {own}.'
        raise ReplicaEnded(ExitReport('IMAGE_PULL_FAILED', message))
