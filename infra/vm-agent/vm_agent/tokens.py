"""Tokens from the metadata server, kept until shortly before they end. They never reach the program's environment."""

import base64
import json
import threading
import time
from typing import Callable, Dict, Tuple
from urllib.parse import urlencode

from vm_agent.metadata_server import MetadataServer
from vm_agent.retry import PassingFault

RENEWED_BEFORE_SECONDS = 120.0


class CachedToken:
    """A token and when it ends (seconds since the epoch); safe to use from several threads."""

    def __init__(self, fetch: Callable[[], Tuple[str, float]]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._token = ''
        self._ends_at = 0.0

    def bearer(self) -> str:
        """The value of an Authorization header. Raises PassingFault while the metadata server has none."""
        with self._lock:
            if time.time() > self._ends_at - RENEWED_BEFORE_SECONDS:
                self._token, self._ends_at = self._fetch()
            return f'Bearer {self._token}'

    def identity_headers(self) -> Dict[str, str]:
        """
        The token twice: Cloud Run checks X-Serverless-Authorization where it is given, and takes the signature out of
        the one that it has checked; the function verifies the other (docs, "Authenticating service-to-service").
        """
        bearer = self.bearer()
        return {'Authorization': bearer, 'X-Serverless-Authorization': bearer}

    def forget(self) -> None:
        """After a 401: the next use fetches a new one."""
        with self._lock:
            self._ends_at = 0.0


def access_token(metadata: MetadataServer) -> CachedToken:
    """The access token of the VM's service account."""

    def fetch() -> Tuple[str, float]:
        try:
            body = json.loads(metadata.get('service-accounts/default/token'))
            return str(body['access_token']), time.time() + float(body['expires_in'])
        except (ValueError, KeyError, TypeError) as error:
            raise PassingFault('The metadata server gave no access token.') from error

    return CachedToken(fetch)


def identity_token(metadata: MetadataServer, audience: str) -> CachedToken:
    """The VM's signed identity (cloud.google.com/compute/docs/instances/verifying-instance-identity)."""
    path = f'service-accounts/default/identity?{urlencode({"audience": audience, "format": "full"})}'

    def fetch() -> Tuple[str, float]:
        token = metadata.get(path).strip()
        return token, expiry_of(token)

    return CachedToken(fetch)


def expiry_of(token: str) -> float:
    """The claim `exp` of a JWT, unverified: the agent only needs to know when to ask again."""
    try:
        payload = token.split('.')[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + '=' * (-len(payload) % 4)))
        return float(claims['exp'])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise PassingFault('The metadata server gave an identity token without an expiry.') from error
