"""The job's secrets, read from Secret Manager before any of its code runs; held in memory only."""

import base64
import json
from typing import Callable, Dict, Mapping, Optional, Tuple

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.request import Request, error_message, send
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.storage.transfer import crc32c

ACCESSOR_ROLE = 'roles/secretmanager.secretAccessor'
UNKNOWN_ACCOUNT = 'VM_SERVICE_ACCOUNT'


class SecretRejected(Exception):
    """Secret Manager rejected the request permanently, or the value cannot be held by an environment variable."""


class SecretManager:
    """A client of Secret Manager's API (cloud.google.com/secret-manager/docs/reference/rest)."""

    def __init__(self, url: str, token: CachedToken, read_account: Callable[[], Optional[str]]) -> None:
        """
        `url` has no trailing slash. `read_account` returns the e-mail address of the VM's service account, or None if
        it is unknown.
        """
        self._url = url
        self._token = token
        self._read_account = read_account

    def access(self, version: str, policy: RetryPolicy) -> str:
        """
        Returns the value of `projects/P/secrets/S/versions/V`. Raises SecretRejected, or the last TransientError. No
        error message contains any part of a value.
        """
        return call_with_retry(lambda: self._access_once(version), policy)

    def account(self) -> str:
        """Returns the VM's service account, or a placeholder: it only makes a remedy easier to copy."""
        return self._read_account() or UNKNOWN_ACCOUNT

    def _access_once(self, version: str) -> str:
        headers = {'Authorization': self._token.bearer()}
        response = send(Request('GET', f'{self._url}/v1/{version}:access', headers))
        if response.status == 401:
            self._token.invalidate()
            raise TransientError(f'Secret Manager rejected the access token: {error_message(response)}')
        if response.status != 200:
            raise SecretRejected(f'Secret Manager answered {response.status}: {error_message(response)}')
        return _to_text(_parse_payload(response.body))


class JobSecrets:
    def __init__(self, manager: SecretManager, versions: Mapping[str, str], mask: Mask) -> None:
        """`versions`: `projects/P/secrets/S/versions/V` by environment variable."""
        self._manager = manager
        self._versions = versions
        self.mask = mask
        self.account = manager.account

    def read(self, policy: RetryPolicy) -> Dict[str, str]:
        """
        Returns the values by environment variable, and masks them from now on. Raises ReplicaEnded with
        SECRET_UNAVAILABLE if one was rejected, and TransientError.
        """
        values: Dict[str, str] = {}
        for variable, version in self._versions.items():
            values[variable] = self._read(variable, version, policy)
        return values

    def read_login(self, version: str, policy: RetryPolicy) -> str:
        """Returns the value of a version with the credentials of a registry. Masks and raises as `read`."""
        return self._read('the registry', version, policy)

    def _read(self, purpose: str, version: str, policy: RetryPolicy) -> str:
        try:
            value = self._manager.access(version, policy)
        except SecretRejected as error:
            raise ReplicaEnded(self._describe(purpose, version, error)) from error
        self.mask.add(value)
        return value

    def _describe(self, purpose: str, version: str, error: Exception) -> ExitReport:
        _, project, _, secret, _, number = version.split('/')
        message = f'Secret {secret}, version {number} in project {project}, for {purpose} cannot be read: {error}'
        evidence = (str(error), *_remedies(secret, project, self._manager.account()))
        return ExitReport('SECRET_UNAVAILABLE', message, evidence=evidence)


def _remedies(secret: str, project: str, account: str) -> Tuple[str, str]:
    add_version = f'gcloud secrets versions add {secret} --project={project} --data-file=-'
    grant = (
        f'gcloud secrets add-iam-policy-binding {secret} --project={project} '
        f'--member=serviceAccount:{account} --role={ACCESSOR_ROLE}'
    )
    return (f'If it has no value: {add_version}', f'If the VM may not read it: {grant}')


def _parse_payload(body: bytes) -> bytes:
    try:
        payload = json.loads(body)['payload']
        data = base64.b64decode(payload.get('data', ''), validate=True)
        checksum = payload.get('dataCrc32c')
        is_valid = checksum is None or int(checksum) == crc32c.extend(0, data)
    except (ValueError, KeyError, TypeError, AttributeError):
        data, is_valid = b'', False
    if not is_valid:
        raise TransientError('The response of Secret Manager is damaged or incomplete.')
    return data


def _to_text(data: bytes) -> str:
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError:
        text = '\0'
    if '\0' in text:
        raise SecretRejected(
            'The value is not text that an environment variable can hold (UTF-8 without NUL). Store it in base64.'
        )
    return text
