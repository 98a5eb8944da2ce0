"""Reads one repository of a registry (OCI Distribution Specification), with or without credentials."""

import base64
import http.client
import json
import re
from contextlib import contextmanager
from typing import Dict, Iterator, Mapping, Optional, Tuple
from urllib.parse import urlencode, urljoin, urlsplit

from vm_agent.container.pull_failure import PullError
from vm_agent.http.request import Request, open_response

REDIRECTS_MAX = 5
TOKEN_BYTES_MAX = 1_048_576
EXCERPT_BYTES = 500
# The host that answers for a name in image references.
API_HOSTS = {'docker.io': 'registry-1.docker.io', 'index.docker.io': 'registry-1.docker.io'}
# Registries whose token service has another host.
TOKEN_HOSTS = {'registry-1.docker.io': 'auth.docker.io', 'registry.gitlab.com': 'gitlab.com'}
GOOGLE_HOST = re.compile(r'(?:[a-z0-9-]+\.)*(?:pkg\.dev|gcr\.io)')
LOOPBACK_HOST = re.compile(r'(?:localhost|127(?:\.\d{1,3}){3})(?::\d+)?')

Credentials = Optional[Tuple[str, str]]
"""User and password."""


def is_google_host(host: str) -> bool:
    """Whether the host is of Artifact Registry or Container Registry, which may see the VM's access token."""
    return GOOGLE_HOST.fullmatch(host) is not None


class Repository:
    """Thread-safe: two threads that log in at once both have a valid token."""

    def __init__(self, host: str, name: str, credentials: Credentials) -> None:
        self._host = API_HOSTS.get(host, host)
        scheme = 'http' if LOOPBACK_HOST.fullmatch(host) else 'https'
        self._origin = f'{scheme}://{self._host}'
        self._name = name
        self._credentials = credentials
        self._authorization: Dict[str, str] = {}

    @contextmanager
    def open(self, path: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        """
        Sends GET for `manifests/…` or `blobs/…`, and yields the response with its body unread, of status 200 or 206.
        Raises PullError for others, and TransientError.
        """
        url = f'{self._origin}/v2/{self._name}/{path}'
        for is_last in (False, True):
            with self._follow(url, {**headers, **self._authorization}) as response:
                if response.status in (200, 206):
                    yield response
                    return
                challenge = response.getheader('www-authenticate')
                if response.status != 401 or is_last or challenge is None:
                    raise PullError(f'GET {url} answered {response.status}: {_excerpt(response)}')
            self._authorization = {'Authorization': self._authorize(challenge)}

    @contextmanager
    def _follow(self, url: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        """Follows redirects; another server gets no credentials."""
        for _ in range(REDIRECTS_MAX):
            with open_response(Request('GET', url, headers)) as response:
                if response.status not in (301, 302, 303, 307, 308):
                    yield response
                    return
                target = urljoin(url, response.getheader('location') or '')
            if urlsplit(target)[:2] != urlsplit(url)[:2]:
                headers = {name: value for name, value in headers.items() if name != 'Authorization'}
            if not target.startswith('https://') and urlsplit(target)[:2] != urlsplit(self._origin)[:2]:
                raise PullError(f'{self._host} redirects to an address without https.')
            url = target
        raise PullError(f'{self._host} redirects more than {REDIRECTS_MAX} times.')

    def _authorize(self, challenge: str) -> str:
        """Returns the header that a registry asks for (distribution.github.io, "Token Authentication")."""
        bearer = re.search(r'\bbearer\s+(.*)$', challenge, re.IGNORECASE)
        if bearer is None:
            if self._credentials is None:
                raise PullError(f'{self._host} answered 401: authentication required')
            return self._basic()['Authorization']
        fields = dict(re.findall(r'(\w+)="([^"]*)"', bearer.group(1)))
        realm = urlsplit(fields.get('realm', ''))
        is_own = f'{realm.scheme}://{realm.netloc}' == self._origin
        if not is_own and (realm.scheme, realm.netloc) != ('https', TOKEN_HOSTS.get(self._host)):
            # A registry must not choose which other server receives a password.
            raise PullError(f'{self._host} answered 401: its token service {realm.netloc[:100]!r} is on another host.')
        query = {'scope': f'repository:{self._name}:pull', **({'service': fields['service']} if 'service' in fields else {})}
        url = f'{realm.scheme}://{realm.netloc}{realm.path}?{urlencode(query)}'
        with open_response(Request('GET', url, self._basic())) as response:
            if response.status != 200:
                raise PullError(f'{self._host} answered {response.status} to a request for a token: {_excerpt(response)}')
            body = response.read(TOKEN_BYTES_MAX)
        try:
            answer = json.loads(body)
            return f'Bearer {str(answer.get("token") or answer["access_token"])}'
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PullError(f'{self._host} answered a request for a token without a token.') from error

    def _basic(self) -> Dict[str, str]:
        if self._credentials is None:
            return {}
        return {'Authorization': f'Basic {base64.b64encode(":".join(self._credentials).encode()).decode("ascii")}'}


def _excerpt(response: http.client.HTTPResponse) -> str:
    return response.read(EXCERPT_BYTES).decode('utf-8', 'replace')


