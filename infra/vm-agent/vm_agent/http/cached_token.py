"""Bearer tokens that are cached until shortly before they expire."""

import threading
import time
from typing import Callable, Dict, Tuple

REFRESH_BEFORE_EXPIRY_SECONDS = 120.0


class CachedToken:
    """A token that is fetched when it is needed. Thread-safe."""

    def __init__(self, fetch: Callable[[], Tuple[str, float]]) -> None:
        """`fetch` returns a token and its expiry (seconds since the epoch), or raises TransientError."""
        self._fetch = fetch
        self._lock = threading.Lock()
        self._token = ''
        self._expires_at = 0.0

    def bearer(self) -> str:
        """Returns the value of an Authorization header. Raises TransientError if no token can be fetched."""
        with self._lock:
            if time.time() > self._expires_at - REFRESH_BEFORE_EXPIRY_SECONDS:
                self._token, self._expires_at = self._fetch()
            return f'Bearer {self._token}'

    def identity_headers(self) -> Dict[str, str]:
        """
        Returns the token in two headers. Cloud Run checks X-Serverless-Authorization if it is present, and removes the
        signature from the header that it has checked; the function verifies the other one (Cloud Run docs,
        "Authenticating service-to-service").
        """
        bearer = self.bearer()
        return {'Authorization': bearer, 'X-Serverless-Authorization': bearer}

    def invalidate(self) -> None:
        """Makes the next use fetch a new token; called after a 401."""
        with self._lock:
            self._expires_at = 0.0
