"""Lines of output as entries of Cloud Logging (cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry)."""

import json
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, Optional, Sequence

SEVERITY_OF_STREAM = {'stdout': 'INFO', 'stderr': 'ERROR', 'agent': 'INFO'}
SEVERITIES = ('DEFAULT', 'DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'ALERT', 'EMERGENCY')
# Google's APIs parse JSON into Protocol Buffers, which limit nesting to 100 in C++ and Java (protobuf-go's notes on
# release 1.28.0). Python's own limit depends on its version: 3.13 parses thousands of levels.
NESTING_MAX = 100
# The approximate size of an entry without its text.
ENTRY_OVERHEAD_BYTES = 256


@dataclass(frozen=True)
class LogSource:
    """The replica and the VM that log entries are labeled with."""

    project_id: str
    job_id: str
    attempt: int
    replica: str
    """Role and index, as in `worker-1`."""
    instance_id: str
    zone: str


@dataclass(frozen=True)
class LogLine:
    stream: str
    text: str
    severity: str
    written_at: float
    """Seconds since the epoch."""
    insert_id: str

    @property
    def size_bytes(self) -> int:
        return len(self.text.encode('utf-8', 'replace')) + ENTRY_OVERHEAD_BYTES


def to_entry(line: LogLine) -> Dict[str, Any]:
    """
    Returns the LogEntry of a line. A JSON object on one line becomes its jsonPayload, and the object's `severity` the
    entry's, as on AI Platform and Vertex AI.
    """
    written_at = datetime.fromtimestamp(line.written_at, timezone.utc)
    entry: Dict[str, Any] = {
        'insertId': line.insert_id,
        'timestamp': written_at.strftime('%Y-%m-%dT%H:%M:%S.%fZ'),
        'severity': line.severity,
        'labels': {'stream': line.stream},
    }
    payload = _parse_payload(line.text)
    if payload is None:
        return {**entry, 'textPayload': line.text}
    severity = str(payload.pop('severity', '')).upper()
    return {**entry, 'severity': severity if severity in SEVERITIES else line.severity, 'jsonPayload': payload}


def to_write_request(source: LogSource, lines: Sequence[LogLine]) -> Dict[str, Any]:
    """Returns the body of `entries:write`. Idempotent: the same lines have the same insertIds."""
    return {
        'logName': f'projects/{source.project_id}/logs/dropforge',
        'resource': {
            'type': 'gce_instance',
            'labels': {'project_id': source.project_id, 'instance_id': source.instance_id, 'zone': source.zone},
        },
        'labels': {'job_id': source.job_id, 'attempt': str(source.attempt), 'replica': source.replica},
        'entries': [to_entry(line) for line in lines],
        # Otherwise one rejected entry keeps all others from being written.
        'partialSuccess': True,
    }


def _parse_payload(text: str) -> Optional[Dict[str, Any]]:
    if not (text.startswith('{') and text.endswith('}')):
        return None
    try:
        payload = json.loads(text, parse_constant=_parse_number, parse_float=_parse_number, parse_int=_parse_integer)
    except (ValueError, RecursionError):
        return None
    is_log = isinstance(payload, Mapping) and 'message' in payload and _is_nested_at_most(NESTING_MAX, payload)
    return dict(payload) if is_log else None


def _is_nested_at_most(levels_max: int, value: Any) -> bool:
    level = [value]
    for _ in range(levels_max):
        containers = [one for one in level if isinstance(one, (dict, list))]
        level = [child for one in containers for child in (one.values() if isinstance(one, dict) else one)]
    return not any(isinstance(one, (dict, list)) for one in level)


def _parse_number(text: str) -> float:
    """Raises ValueError for NaN, Infinity and numbers beyond a double, which Python accepts and JSON does not."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f'{text} is not a valid JSON number')
    return number


def _parse_integer(text: str) -> int:
    _parse_number(text)
    return int(text)
