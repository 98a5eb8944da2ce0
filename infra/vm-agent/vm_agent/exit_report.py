"""How a replica ended: the `exit` of the last heartbeat (shared/protocol/heartbeat.ts)."""

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

MESSAGE_CHARS_MAX = 2_000
LINE_CHARS_MAX = 2_000
EVIDENCE_LINES_MAX = 40
# A heartbeat may have 64 KiB; usage and progress need the rest.
EVIDENCE_BYTES_MAX = 40_960


@dataclass(frozen=True)
class ExitReport:
    reason: str
    message: str
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    evidence: Tuple[str, ...] = ()

    def to_json(self) -> Dict[str, Any]:
        return {
            'reason': self.reason,
            'exitCode': self.exit_code,
            'signal': self.signal,
            'message': clip(self.message, MESSAGE_CHARS_MAX),
            'evidence': fit_evidence(self.evidence),
        }


class ReplicaEnded(Exception):
    """This replica is over, for the reason in the report; unwinds to where the report is delivered."""

    def __init__(self, report: ExitReport) -> None:
        super().__init__(report.message)
        self.report = report


def read_exit_report(body: Mapping[str, Any]) -> ExitReport:
    """The opposite of `to_json`."""
    return ExitReport(
        reason=body['reason'],
        message=body['message'],
        exit_code=body['exitCode'],
        signal=body['signal'],
        evidence=tuple(body['evidence']),
    )


def clip(text: str, chars_max: int) -> str:
    """Cuts to so many UTF-16 code units, which is what the protocol's schema counts."""
    units = text.encode('utf-16-le', 'replace')
    return units[: 2 * chars_max].decode('utf-16-le', 'ignore')


def fit_evidence(lines: Iterable[str]) -> Tuple[str, ...]:
    """The newest lines that the schema and the size of a heartbeat allow, the newest last."""
    kept = []
    bytes_left = EVIDENCE_BYTES_MAX
    for line in reversed([line for line in lines if line.strip()][-EVIDENCE_LINES_MAX:]):
        clipped = clip(line, LINE_CHARS_MAX)
        bytes_left -= len(json.dumps(clipped))
        if bytes_left < 0:
            break
        kept.append(clipped)
    return tuple(reversed(kept))
