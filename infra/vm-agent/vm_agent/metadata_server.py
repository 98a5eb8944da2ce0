"""The metadata server of the VM (cloud.google.com/compute/docs/metadata/querying-metadata)."""

from dataclasses import dataclass
from typing import Optional
from urllib.parse import quote, urlencode

from vm_agent.http_request import Request, Response, send
from vm_agent.retry import PassingFault, Patience, call_patiently

DEFAULT_HOST = 'metadata.google.internal'
LONG_POLL_SECONDS = 60
BOOT_PATIENCE = Patience(tries_max=30, seconds_max=60)


class MetadataMissing(Exception):
    """The metadata server answered, and has no such value."""


@dataclass(frozen=True)
class Value:
    text: str
    etag: str


@dataclass(frozen=True)
class Instance:
    """Who this VM is."""

    instance_id: str
    name: str
    zone: str


class MetadataServer:
    def __init__(self, host: str) -> None:
        self._base = f'http://{host}/computeMetadata/v1/instance/'

    def get(self, path: str, timeout_seconds: float = 10.0) -> str:
        """One value below `instance/`. Raises MetadataMissing, or PassingFault where nobody answers."""
        return self._request(path, timeout_seconds).body.decode('utf-8')

    def get_patiently(self, path: str) -> str:
        return call_patiently(lambda: self.get(path), BOOT_PATIENCE)

    def attribute(self, key: str) -> str:
        return self.get_patiently(f'attributes/{quote(key)}')

    def instance(self) -> Instance:
        zone = self.get_patiently('zone').rsplit('/', 1)[-1]
        return Instance(instance_id=self.get_patiently('id'), name=self.get_patiently('name'), zone=zone)

    def wait_for_change(self, path: str, last_etag: Optional[str]) -> Value:
        """Answers when the value is another than the one with `last_etag`, or after LONG_POLL_SECONDS."""
        query = {'wait_for_change': 'true', 'timeout_sec': str(LONG_POLL_SECONDS)}
        if last_etag is not None:
            query['last_etag'] = last_etag
        response = self._request(f'{path}?{urlencode(query)}', LONG_POLL_SECONDS + 10)
        return Value(response.body.decode('utf-8').strip(), response.headers.get('etag', '0'))

    def _request(self, path: str, timeout_seconds: float) -> Response:
        response = send(
            Request('GET', self._base + path, {'Metadata-Flavor': 'Google'}, timeout_seconds=timeout_seconds)
        )
        if response.status == 404:
            raise MetadataMissing(f'The metadata server has no instance/{path}.')
        if response.status != 200:
            raise PassingFault(f'The metadata server answered {response.status} for instance/{path}.')
        return response
