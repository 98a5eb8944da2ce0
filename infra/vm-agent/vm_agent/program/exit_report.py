"""How a replica ended: the `exit` of the last heartbeat (shared/protocol/heartbeat.ts)."""

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

from vm_agent.program.evidence import clean_evidence

# The values of `EXIT_REASONS` in shared/domain/exit-report.ts.
EXIT_REASONS = (
    'EXITED',
    'PREEMPTED',
    'STOPPED',
    'MAX_RUNNING_TIME',
    'OUT_OF_MEMORY',
    'DISK_FULL',
    'PACKAGE_UNREADABLE',
    'INSTALL_FAILED',
    'IMAGE_PULL_FAILED',
    'CONTAINER_NOT_STARTED',
    'JOB_DIR_UNWRITABLE',
    'CHECKPOINT_UNREADABLE',
    'DISK_TOO_SMALL',
    'SERVICE_UNREACHABLE',
    'SECRET_UNAVAILABLE',
    'GPU_MISSING',
    'GPU_FAILED',
    'UNHEALTHY',
    'AGENT_FAILED',
)

MESSAGE_CHARS_MAX = 2_000
LINE_CHARS_MAX = 2_000
REMEDY_CHARS_MAX = 500
EVIDENCE_LINES_MAX = 40
OMISSION = ' … '
# A heartbeat may have 64 KiB; the rest is for usage and progress.
EVIDENCE_BYTES_MAX = 40_960


@dataclass(frozen=True)
class DecisiveFinding:
    """The finding about the program's health for which it was stopped."""

    code: str
    action: str
    """`stop`, `restart` or `rollback`."""
    remedy: str
    bad_since: Optional[float] = None
    """Seconds since the epoch: what was saved before is good. None if the program has never been well."""

    def to_json(self) -> Dict[str, Any]:
        return {'code': self.code, 'action': self.action, 'remedy': truncate(self.remedy, REMEDY_CHARS_MAX)}


@dataclass(frozen=True)
class ExitReport:
    reason: str
    """One of EXIT_REASONS."""
    message: str
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    evidence: Tuple[str, ...] = ()
    saved_nothing: bool = False
    """Whether the program succeeded, and the job directory has no file of it."""
    health: Optional[DecisiveFinding] = None
    """With the reason UNHEALTHY."""
    unreachable_host: Optional[str] = None
    """With the reason SERVICE_UNREACHABLE: a host outside of Google, which another VM may not reach either."""
    saved_uris: Tuple[str, ...] = ()
    """Where the program says that it has saved something; not reported."""

    def __post_init__(self) -> None:
        if self.reason not in EXIT_REASONS:
            raise ValueError(f'{self.reason} is not an exit reason.')

    @property
    def is_success(self) -> bool:
        return self.reason == 'EXITED' and self.exit_code == 0

    @property
    def is_stopped(self) -> bool:
        """Whether the VM was told to stop, is shut down, or has no control plane: it may have little time left."""
        return self.reason in ('STOPPED', 'PREEMPTED')

    @property
    def is_rollback(self) -> bool:
        """Whether the job goes back to an earlier checkpoint."""
        return self.health is not None and self.health.action == 'rollback'

    def to_json(self) -> Dict[str, Any]:
        return {
            'reason': self.reason,
            'exitCode': self.exit_code,
            'signal': self.signal,
            'message': truncate(self.message, MESSAGE_CHARS_MAX),
            'evidence': list(truncate_evidence(self.evidence)),
            **({'savedNothing': True} if self.saved_nothing else {}),
            **({'health': self.health.to_json()} if self.health is not None else {}),
            **({'unreachableHost': self.unreachable_host} if self.unreachable_host is not None else {}),
        }


class ReplicaEnded(Exception):
    """Ends the replica with this report; caught where the report is delivered."""

    def __init__(self, report: ExitReport) -> None:
        super().__init__(report.message)
        self.report = report


def parse_exit_report(body: Mapping[str, Any]) -> ExitReport:
    """The inverse of `to_json`. Raises KeyError for a missing field."""
    return ExitReport(
        reason=body['reason'],
        message=body['message'],
        exit_code=body['exitCode'],
        signal=body['signal'],
        evidence=tuple(body['evidence']),
        saved_nothing=body.get('savedNothing', False),
        health=_parse_health(body.get('health')),
        unreachable_host=body.get('unreachableHost'),
    )


def _parse_health(body: Optional[Mapping[str, Any]]) -> Optional[DecisiveFinding]:
    return None if body is None else DecisiveFinding(body['code'], body['action'], body['remedy'])


def truncate(text: str, chars_max: int) -> str:
    """Truncates to `chars_max` UTF-16 code units, which is what the protocol's schema counts."""
    units = text.encode('utf-16-le', 'replace')
    return units[: 2 * chars_max].decode('utf-16-le', 'ignore')


def shorten(text: str, chars_max: int) -> str:
    """Leaves out the middle of a longer text, counted like `truncate`: both ends of an error message can matter."""
    units = text.encode('utf-16-le', 'replace')
    if len(units) <= 2 * chars_max:
        return truncate(text, chars_max)
    end = units[-(chars_max - chars_max % 2) + 2 * len(OMISSION) :]
    return truncate(text, chars_max // 2) + OMISSION + end.decode('utf-16-le', 'ignore')


def truncate_evidence(lines: Iterable[str]) -> Tuple[str, ...]:
    """Returns the last lines, cleaned, that the schema and the size of a heartbeat allow."""
    kept = []
    bytes_left = EVIDENCE_BYTES_MAX
    for line in reversed(clean_evidence(lines)[-EVIDENCE_LINES_MAX:]):
        truncated = shorten(line, LINE_CHARS_MAX)
        bytes_left -= len(json.dumps(truncated))
        if bytes_left < 0:
            break
        kept.append(truncated)
    return tuple(reversed(kept))
