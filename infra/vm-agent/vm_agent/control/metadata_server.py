"""The VM's metadata server and the tokens that it issues (cloud.google.com/compute/docs/metadata/querying-metadata)."""

import base64
import json
import math
import time
from dataclasses import dataclass
from typing import Optional, Tuple
from urllib.parse import quote, urlencode

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.request import Request, Response, send
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry

DEFAULT_HOST = 'metadata.google.internal'
LONG_POLL_SECONDS = 60
# A long poll answers shortly after LONG_POLL_SECONDS.
LONG_POLL_MARGIN_SECONDS = 10
BOOT_POLICY = RetryPolicy(tries_max=30, seconds_max=60)


class MetadataMissing(Exception):
    """The metadata server has no such value."""


@dataclass(frozen=True)
class Instance:
    """This VM's identity at Compute Engine."""

    instance_id: str
    zone: str


class MetadataServer:
    def __init__(self, host: str) -> None:
        self._base = f'http://{host}/computeMetadata/v1/instance/'

    def get(self, path: str, timeout_seconds: float = 10.0) -> str:
        """Returns the value at a path below `instance/`. Raises MetadataMissing or TransientError."""
        return self._request(path, timeout_seconds).body.decode('utf-8')

    def get_with_retry(self, path: str) -> str:
        return call_with_retry(lambda: self.get(path), BOOT_POLICY)

    def attribute(self, key: str) -> str:
        return self.get_with_retry(f'attributes/{quote(key)}')

    def instance(self) -> Instance:
        zone = self.get_with_retry('zone').rsplit('/', 1)[-1]
        return Instance(instance_id=self.get_with_retry('id'), zone=zone)

    def service_account(self) -> Optional[str]:
        """Returns the e-mail address of the VM's service account, or None if it cannot be read."""
        try:
            return self.get('service-accounts/default/email').strip()
        except (MetadataMissing, TransientError):
            return None

    def wait_for_change(self, path: str, last_etag: str, seconds_max: float) -> Tuple[str, str]:
        """
        Returns a value and its etag as soon as that differs from `last_etag`, or after LONG_POLL_SECONDS or
        `seconds_max`.
        """
        seconds = max(1, math.ceil(min(seconds_max, LONG_POLL_SECONDS)))
        query = {'wait_for_change': 'true', 'timeout_sec': str(seconds), 'last_etag': last_etag}
        response = self._request(f'{path}?{urlencode(query)}', LONG_POLL_SECONDS + LONG_POLL_MARGIN_SECONDS)
        return response.body.decode('utf-8').strip(), response.headers.get('etag', '0')

    def _request(self, path: str, timeout_seconds: float) -> Response:
        response = send(
            Request('GET', self._base + path, {'Metadata-Flavor': 'Google'}, timeout_seconds=timeout_seconds)
        )
        if response.status == 404:
            raise MetadataMissing(f'The metadata server has no value instance/{path}.')
        if response.status != 200:
            raise TransientError(f'The metadata server answered {response.status} for instance/{path}.')
        return response


def access_token(metadata: MetadataServer) -> CachedToken:
    """Returns the access token of the VM's service account. It is never part of the program's environment."""

    def fetch() -> Tuple[str, float]:
        try:
            body = json.loads(metadata.get('service-accounts/default/token'))
            return str(body['access_token']), time.time() + float(body['expires_in'])
        except (ValueError, KeyError, TypeError) as error:
            raise TransientError('The metadata server did not return an access token.') from error

    return CachedToken(fetch)


def identity_token(metadata: MetadataServer, audience: str) -> CachedToken:
    """Returns the VM's signed identity (cloud.google.com/compute/docs/instances/verifying-instance-identity)."""
    path = f'service-accounts/default/identity?{urlencode({"audience": audience, "format": "full"})}'

    def fetch() -> Tuple[str, float]:
        token = metadata.get(path).strip()
        return token, expiry_of(token)

    return CachedToken(fetch)


def expiry_of(token: str) -> float:
    """Returns a JWT's `exp` claim (seconds since the epoch), unverified: it only schedules the next fetch."""
    try:
        payload = token.split('.')[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + '=' * (-len(payload) % 4)))
        return float(claims['exp'])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise TransientError('The metadata server returned an identity token without an expiry.') from error
