"""Downloads the image of a container by its digest, with the machine's engine."""

import platform
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Counter as Counts, Mapping, Optional, Sequence

from vm_agent.container.docker_pull import DockerPull
from vm_agent.container.engine import Engine
from vm_agent.container.podman_layers import delete_layers
from vm_agent.container.podman_pull import PodmanPull
from vm_agent.container.pull_failure import Failure, PullError, classify, report_of
from vm_agent.container.pull_space import DiskAllowance, PullSpace, check_space, find_storage
from vm_agent.container.registry import Credentials, is_google_host
from vm_agent.container.spec import ContainerSpec
from vm_agent.container.transfer import PullProgress, Transfer, format_bytes
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.installers import ToolResult

GOOGLE_USER = 'oauth2accesstoken'
FindExcess = Callable[[], Optional[str]]
"""Returns why a pull takes too much disk, or None."""
ARCHITECTURES = {'x86_64': 'amd64', 'amd64': 'amd64', 'aarch64': 'arm64', 'arm64': 'arm64'}


@dataclass(frozen=True)
class RegistryAccess:
    """What registries may know of the VM."""

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
    run: Callable[[Sequence[str], Mapping[str, str], FindExcess], ToolResult]
    """
    Runs a command line with these variables; raises ReplicaEnded if the VM is told to stop in the meantime, and with
    DISK_TOO_SMALL if an excess is found.
    """
    disk: DiskAllowance
    check: Callable[[], None]
    """Raises ReplicaEnded if the VM is told to stop."""
    access: RegistryAccess
    mask: Mask
    report: Callable[[Transfer], None]
    """Receives how much has arrived, often and from other threads."""
    log: Callable[[str, str], None]


def is_disk_too_small(error: Exception) -> bool:
    reason = error.report.reason if isinstance(error, ReplicaEnded) else classify(str(error)).reason
    return reason == 'DISK_TOO_SMALL'


class _Retryable(TransientError):
    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(text)
        self.failure = failure


def pull_image(engine: Engine, spec: ContainerSpec, context: PullContext) -> None:
    """
    Returns when the engine has the image. Raises ReplicaEnded with IMAGE_PULL_FAILED, DISK_TOO_SMALL,
    SECRET_UNAVAILABLE or SERVICE_UNREACHABLE, and TransientError if Google's services fail.
    """
    if engine.has_image(spec.image):
        context.log(f'The image {spec.image} is on this machine: nothing is pulled.', 'INFO')
        return
    storage = find_storage(engine)
    check_space(engine, storage, spec, context.disk)
    progress = PullProgress(spec.size_bytes, context.report, context.log)
    _Pull(engine, spec, context, progress, storage).run()
    _check_architecture(engine, spec)
    context.log(f'Pulled the image {spec.image}: {format_bytes(progress.done_bytes)} downloaded.', 'INFO')


class _Pull:
    def __init__(
        self, engine: Engine, spec: ContainerSpec, context: PullContext, progress: PullProgress, storage: Path
    ) -> None:
        self._engine, self._spec, self._context, self._progress = engine, spec, context, progress
        self._storage = storage
        self._space = PullSpace(storage, spec, context.disk)
        self._tries: Counts[str] = Counter()

    def run(self) -> None:
        try:
            call_with_retry(self._try, self._context.policy, lambda: self._progress.done_bytes)
        except _Retryable as error:
            # A reason to stop takes precedence.
            self._context.check()
            raise self._ended(error.failure, str(error)) from error

    def _try(self) -> None:
        try:
            self._pull_once(resolve_credentials(self._spec, self._context))
        except PullError as error:
            text = self._context.mask(str(error))
            failure = classify(text)
            self._tries[failure.sentence] += 1
            if self._tries[failure.sentence] >= failure.tries_max:
                raise self._ended(failure, text) from error
            lines = text.splitlines()
            self._context.log(f'The pull failed and is tried again: {lines[-1] if lines else text}', 'WARNING')
            raise _Retryable(failure, text) from error

    def _pull_once(self, credentials: Credentials) -> None:
        engine, context, image = self._engine, self._context, self._spec.image
        if engine.kind == 'podman':

            def run(args: Sequence[str], variables: Mapping[str, str]) -> ToolResult:
                return context.run(engine.argv(args), {**engine.environment, **variables}, self._space.find_excess)

            pull = PodmanPull(image, credentials, self._progress)
            try:
                pull.run(run, context.folder, context.policy)
            except (ReplicaEnded, PullError) as error:
                if is_disk_too_small(error):
                    delete_layers(engine, self._storage, pull.digests, context.folder)
                raise
        else:
            # Docker itself deletes the layers of an image whose pull has failed.
            DockerPull(_docker_socket(engine), image, credentials, self._progress).run(self._check)

    def _check(self) -> None:
        self._context.check()
        excess = self._space.find_excess()
        if excess is not None:
            raise ReplicaEnded(ExitReport('DISK_TOO_SMALL', excess))

    def _ended(self, failure: Failure, text: str) -> ReplicaEnded:
        context = self._context
        return ReplicaEnded(report_of(failure, text, self._spec, context.access.account(), context.disk.remedy))


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


def _docker_socket(engine: Engine) -> str:
    found = engine.run_tool(['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'])
    scheme, _, path = found.stdout.strip().partition('://')
    if scheme != 'unix':
        raise PullError(f'Docker runs at {found.stdout.strip() or "an unknown address"}, but only unix:// is supported.')
    return path


def _check_architecture(engine: Engine, spec: ContainerSpec) -> None:
    """Engines pull an image of another architecture with a warning, and it fails at its first instruction."""
    found = engine.run_tool(['image', 'inspect', '--format', '{{.Architecture}}', spec.image]).stdout.strip()
    own = ARCHITECTURES.get(platform.machine().lower())
    if found and own is not None and found != own:
        message = f'The image {spec.image} is for {found}, but the VM has {own}. Build the image for {own}.'
        raise ReplicaEnded(ExitReport('IMAGE_PULL_FAILED', message))
