"""Secret Manager's API, as far as the agent needs it (cloud.google.com/secret-manager/docs/reference/rest)."""

import base64
import json
from typing import Callable

from vm_agent import crc32c
from vm_agent.http_request import Request, explain, send
from vm_agent.metadata_server import MetadataMissing
from vm_agent.retry import PassingFault, Patience, call_patiently
from vm_agent.tokens import CachedToken


class SecretRefused(Exception):
    """Secret Manager said no, and will say so again; or the value cannot be held by an environment variable."""


class SecretManager:
    def __init__(self, url: str, token: CachedToken, read_account: Callable[[], str]) -> None:
        """`read_account` answers the e-mail address of the VM's account."""
        self._url = url
        self._token = token
        self._read_account = read_account

    def access(self, version: str, patience: Patience) -> str:
        """The value of `projects/P/secrets/S/versions/V`. Raises SecretRefused, or PassingFault when patience ends."""
        return call_patiently(lambda: self._access_once(version), patience)

    def account(self) -> str:
        try:
            return self._read_account().strip()
        except (MetadataMissing, PassingFault):
            # It only makes a remedy easier to copy.
            return 'VM_SERVICE_ACCOUNT'

    def _access_once(self, version: str) -> str:
        headers = {'Authorization': self._token.bearer()}
        response = send(Request('GET', f'{self._url}/v1/{version}:access', headers))
        if response.status == 401:
            self._token.forget()
            raise PassingFault(f'Secret Manager did not accept the access token: {explain(response)}')
        if response.status != 200:
            raise SecretRefused(f'Secret Manager answered {response.status}: {explain(response)}')
        return _to_text(_read_payload(response.body))


def _read_payload(body: bytes) -> bytes:
    """No fault that is raised here shows what was in the answer."""
    try:
        payload = json.loads(body)['payload']
        data = base64.b64decode(payload.get('data', ''), validate=True)
        stated = payload.get('dataCrc32c')
        is_whole = stated is None or int(stated) == crc32c.extend(0, data)
    except (ValueError, KeyError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise PassingFault('The answer of Secret Manager did not arrive whole.')
    return data


def _to_text(data: bytes) -> str:
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError:
        text = '\0'
    if '\0' in text:
        raise SecretRefused('The value is no text, which no environment variable can hold. Store it in base64.')
    return text
