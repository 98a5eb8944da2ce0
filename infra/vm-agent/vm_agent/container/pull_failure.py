"""The output of a failed `docker pull`, as a reason, one sentence and a remedy."""

import re
from dataclasses import dataclass
from typing import Tuple

from vm_agent.container.login import is_google_host
from vm_agent.container.spec import ContainerSpec
from vm_agent.program.exit_report import ExitReport

READER_ROLE = 'roles/artifactregistry.reader'


@dataclass(frozen=True)
class Failure:
    reason: str
    sentence: str
    """Like `remedy`, with placeholders: image, host, identity and others."""
    remedy: str = ''
    is_retried: bool = False


_FULL = Failure(
    'DISK_TOO_SMALL',
    'The disk of the VM became full while the image {image} was pulled.',
    '{disk_remedy} Or use a smaller image.',
)
_ARCHITECTURE = Failure(
    'IMAGE_PULL_FAILED',
    'The image {image} is not for the architecture of the VM.',
    'Build the image for the architecture of the VM (docker build --platform linux/amd64) and submit again.',
)
_DAMAGED = Failure(
    'IMAGE_PULL_FAILED',
    '{host} sent bytes of the image {image} that do not match its digest or size.',
    'Push the image again and submit again; if a proxy or mirror answers for the registry, check it.',
    is_retried=True,
)
_RATE_LIMITED = Failure(
    'IMAGE_PULL_FAILED',
    '{host} limits how many images this VM may pull ({identity}).',
    'Wait (Docker Hub counts the pulls of six hours), log in with a secret of the registry, or copy the image to '
    'Artifact Registry.',
    is_retried=True,
)
_UNTRUSTED = Failure(
    'IMAGE_PULL_FAILED',
    'The TLS certificate of {host} is not trusted.',
    'Use a registry with a public certificate, or install its certificate authority in the machine image '
    '(/usr/local/share/ca-certificates).',
)
_UNAUTHORIZED = Failure(
    'IMAGE_PULL_FAILED',
    '{host} does not let this VM pull the image {image} ({identity}).',
    '{access_remedy}',
)
_MISSING = Failure(
    'IMAGE_PULL_FAILED',
    'The image {image} no longer exists: it was deleted after the job was submitted.',
    'Push the image again and submit again; a cleanup policy of the registry may have deleted it.',
)
_UNREACHABLE = Failure(
    'SERVICE_UNREACHABLE', '{host} was unreachable while the image {image} was pulled.', is_retried=True
)
_OTHER = Failure('IMAGE_PULL_FAILED', 'The image {image} could not be pulled.')

# The first match counts. The words are those of Docker, containerd, and of the registries' error codes
# (OCI Distribution Specification, "Error Codes").
_PATTERNS: Tuple[Tuple[Failure, str], ...] = (
    (_FULL, r'no space left on device|disk quota exceeded'),
    (_RATE_LIMITED, r'too ?many ?requests|rate limit|\b429\b'),
    (_ARCHITECTURE, r'no matching manifest|does not match the (specified )?platform'),
    (
        _DAMAGED,
        r'verification failed|digest mismatch|(does not|did not) match.{0,30}digest'
        r'|digest .{0,80}(does not|did not) match'
        r'|unexpected commit digest|size validation',
    ),
    (_UNTRUSTED, r'x509:|certificate|tls: |gave http response to https client'),
    (_MISSING, r'manifest[_ ]unknown|name[_ ]unknown|blob[_ ]unknown|manifest for .{1,500} not found|: not found'),
    (
        _UNAUTHORIZED,
        r'unauthorized|authentication required|no basic auth|access denied|denied:|forbidden|invalid username'
        r'|incorrect username|insufficient_scope',
    ),
    (_MISSING, r'not found'),
    (
        _UNREACHABLE,
        r'connection (refused|reset)|no such host|timed? ?out|timeout|\beof\b|temporary failure'
        r'|unexpected http status: 5|50[0234] |server misbehaving|network is unreachable|no route to host|broken pipe'
        r'|context (canceled|deadline)|dial tcp|gateway|unavailable|name resolution|failed to copy|connection'
        r'|cannot connect',
    ),
)


# No connection was made; a registry that answers with an error, or stops sending, was reached.
_NO_CONNECTION = re.compile(
    r'dial tcp|no such host|connection refused|network is unreachable|no route to host|name resolution'
    r'|waiting for connection|cannot connect'
)


def classify(text: str) -> Failure:
    """Returns what follows from the text that Docker printed."""
    lowered = text.lower()
    return next((failure for failure, pattern in _PATTERNS if re.search(pattern, lowered)), _OTHER)


def report_of(failure: Failure, text: str, spec: ContainerSpec, account: str, disk_remedy: str) -> ExitReport:
    """
    The exit report of a failed pull. `account` is the VM's service account, `disk_remedy` a sentence that says how the
    job gets more disk.
    """
    identity, access_remedy = describe_identity(spec, account)
    values = {
        'image': spec.image,
        'host': f'The registry {spec.image.split("/", 1)[0]}',
        'identity': identity,
        'access_remedy': access_remedy,
        'disk_remedy': disk_remedy,
    }
    message = failure.sentence.format(**values)
    remedy = failure.remedy.format(**values)
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    host = spec.image.split('/', 1)[0]
    is_outside = failure is _UNREACHABLE and not is_google_host(host) and _NO_CONNECTION.search(text.lower())
    return ExitReport(
        failure.reason, f'{message} {remedy}'.strip(), evidence=lines, unreachable_host=host if is_outside else None
    )


def describe_identity(spec: ContainerSpec, account: str) -> Tuple[str, str]:
    """Returns how the VM was known to the registry, and what gives it access."""
    if spec.credentials == 'GOOGLE':
        return (
            f'as {account}',
            f'Grant {READER_ROLE} on the repository to serviceAccount:{account}, and submit again.',
        )
    if spec.credentials == 'SECRET':
        return (
            f'with the secret {spec.credentials_secret}',
            'Add a version to the secret with a valid USER:PASSWORD that may pull the image, and submit again.',
        )
    return (
        'without credentials',
        'Name a secret with the credentials of the registry in the job, or make the image public.',
    )
