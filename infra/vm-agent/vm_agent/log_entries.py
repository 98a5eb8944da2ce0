"""Lines of output as entries of Cloud Logging (cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry)."""

import json
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, Optional, Sequence

from vm_agent.config import Config
from vm_agent.metadata_server import Instance

SEVERITY_OF_STREAM = {'stdout': 'INFO', 'stderr': 'ERROR', 'agent': 'INFO'}
SEVERITIES = ('DEFAULT', 'DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'ALERT', 'EMERGENCY')
# What an entry takes besides its text.
ENTRY_OVERHEAD_BYTES = 256


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
    """Single-line JSON becomes a jsonPayload, its `severity` the entry's, as on AI Platform and Vertex."""
    written_at = datetime.fromtimestamp(line.written_at, timezone.utc)
    entry: Dict[str, Any] = {
        'insertId': line.insert_id,
        'timestamp': written_at.strftime('%Y-%m-%dT%H:%M:%S.%fZ'),
        'severity': line.severity,
        'labels': {'stream': line.stream},
    }
    payload = _read_payload(line.text)
    if payload is None:
        return {**entry, 'textPayload': line.text}
    severity = str(payload.pop('severity', '')).upper()
    return {**entry, 'severity': severity if severity in SEVERITIES else line.severity, 'jsonPayload': payload}


def write_request(config: Config, instance: Instance, lines: Sequence[LogLine]) -> Dict[str, Any]:
    """The body of `entries:write`. The same lines give the same insertIds, so a repeat changes nothing."""
    return {
        'logName': f'projects/{config.project_id}/logs/dropforge',
        'resource': {
            'type': 'gce_instance',
            'labels': {'project_id': config.project_id, 'instance_id': instance.instance_id, 'zone': instance.zone},
        },
        'labels': {'job_id': config.job_id, 'attempt': str(config.attempt), 'replica': config.replica},
        'entries': [to_entry(line) for line in lines],
        # One entry that is refused keeps no other from being written.
        'partialSuccess': True,
    }


def _read_payload(text: str) -> Optional[Dict[str, Any]]:
    if not (text.startswith('{') and text.endswith('}')):
        return None
    try:
        payload = json.loads(text, parse_constant=_read_number, parse_float=_read_number, parse_int=_read_integer)
    except (ValueError, RecursionError):
        return None
    is_log = isinstance(payload, Mapping) and 'message' in payload
    return dict(payload) if is_log else None


def _read_number(text: str) -> float:
    """Raises ValueError for NaN, Infinity and what is beyond a double: Python reads and writes them, JSON has none."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f'{text} is no number of JSON')
    return number


def _read_integer(text: str) -> int:
    _read_number(text)
    return int(text)
