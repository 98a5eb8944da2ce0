"""What an engine or a registry says about a pull that failed, as a reason, one sentence and a remedy."""

import re
import sys
from dataclasses import dataclass
from typing import Tuple

from vm_agent.container.spec import ContainerSpec
from vm_agent.program.exit_report import ExitReport

RATE_LIMIT_TRIES_MAX = 4
DAMAGE_TRIES_MAX = 2
DELETED_TRIES_MAX = 4
READER_ROLE = 'roles/artifactregistry.reader'


class PullError(Exception):
    """A pull failed; the message is what the engine or the registry said."""


@dataclass(frozen=True)
class Failure:
    reason: str
    sentence: str
    """Like `remedy`, with placeholders: image, host, identity and others."""
    remedy: str = ''
    tries_max: int = 1


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
    DAMAGE_TRIES_MAX,
)
_RATE_LIMITED = Failure(
    'IMAGE_PULL_FAILED',
    '{host} limits how many images this VM may pull ({identity}).',
    'Wait (Docker Hub counts the pulls of six hours), log in with a secret of the registry, or copy the image to '
    'Artifact Registry.',
    RATE_LIMIT_TRIES_MAX,
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
# Podman has no lock on the layers of a pull: another one that ends for its disk space deletes its own (podman_layers).
_LAYERS_DELETED = Failure(
    'IMAGE_PULL_FAILED',
    'Layers of the image {image} were deleted from the machine while it was pulled.',
    'Find what deletes images there (podman image prune, for example), and submit again.',
    DELETED_TRIES_MAX,
)
_UNREACHABLE = Failure(
    'SERVICE_UNREACHABLE', '{host} was unreachable while the image {image} was pulled.', tries_max=sys.maxsize
)
_OTHER = Failure('IMAGE_PULL_FAILED', 'The image {image} could not be pulled.')

# The first match counts. The words are those of Docker, containerd, Podman, and of the API's error codes
# (OCI Distribution Specification, "Error Codes").
_PATTERNS: Tuple[Tuple[Failure, str], ...] = (
    (_FULL, r'no space left on device|disk quota exceeded'),
    (_RATE_LIMITED, r'too ?many ?requests|rate limit|answered 429|\b429\b'),
    (
        _ARCHITECTURE,
        r'no matching manifest|no image found in .{0,80}architecture|does not match the (specified )?platform',
    ),
    (
        _DAMAGED,
        r'verification failed|digest mismatch|(does not|did not) match.{0,30}digest'
        r'|digest .{0,80}(does not|did not) match'
        r'|unexpected commit digest|larger than intake|longer than declared|size validation failed',
    ),
    (_LAYERS_DELETED, r'\blayer not known'),
    (_UNTRUSTED, r'x509:|certificate|tls: |gave http response to https client'),
    (_MISSING, r'manifest[_ ]unknown|name[_ ]unknown|blob[_ ]unknown|manifest for .{1,500} not found|: not found'),
    (
        _UNAUTHORIZED,
        r'unauthorized|authentication required|no basic auth|access denied|denied:|"denied"|forbidden|invalid username'
        r'|incorrect username|answered 40[13]\b|insufficient_scope',
    ),
    (_MISSING, r'answered 404\b|not found'),
    (
        _UNREACHABLE,
        r'connection (refused|reset)|no such host|timed? ?out|timeout|\beof\b|temporary failure|answered 5\d\d'
        r'|received unexpected http status: 5|50[0234] |server misbehaving|network is unreachable|no route to host'
        r'|broken pipe|context (canceled|deadline)|dial tcp|gateway|unavailable|ended after|name or service not known'
        r'|name resolution|remote end closed|incomplete|failed to copy|connection',
    ),
)


def classify(text: str) -> Failure:
    """Returns what follows from the text of an engine or registry."""
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
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ExitReport(failure.reason, f'{message} {remedy}'.strip(), evidence=tuple(lines))


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
