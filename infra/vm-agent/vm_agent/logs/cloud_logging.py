"""A client of the Cloud Logging API (cloud.google.com/logging/docs/reference/v2/rest/v2/entries/write)."""

import json
from typing import Any, Mapping, Sequence

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.request import Request, error_message, send
from vm_agent.http.retry import TransientError
from vm_agent.logs.log_entries import LogLine, LogSource, to_write_request


class BatchRejected(Exception):
    """Cloud Logging rejected the batch; a retry would be rejected, too."""


class EntriesRejected(BatchRejected):
    """At least one entry of the batch is invalid; the others would be accepted."""


class CloudLogging:
    def __init__(self, url: str, source: LogSource, token: CachedToken) -> None:
        """`url` has no trailing slash."""
        self._url = url
        self._source = source
        self._token = token

    def write(self, lines: Sequence[LogLine]) -> None:
        """Writes a batch, without retries. Raises TransientError, EntriesRejected or BatchRejected."""
        headers = {'Authorization': self._token.bearer(), 'Content-Type': 'application/json'}
        body = encode(to_write_request(self._source, lines))
        response = send(Request('POST', f'{self._url}/v2/entries:write', headers, body))
        if response.status == 401:
            self._token.invalidate()
            raise TransientError('Cloud Logging rejected the access token.')
        if response.status == 400:
            raise EntriesRejected(f'{response.status} {error_message(response)}')
        if response.status != 200:
            raise BatchRejected(f'{response.status} {error_message(response)}')


def encode(body: Mapping[str, Any]) -> bytes:
    """Raises ValueError for NaN and infinite numbers: Google's parser rejects a whole request that contains one."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode('utf-8', 'replace')
