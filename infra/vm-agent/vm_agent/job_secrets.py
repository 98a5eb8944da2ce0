"""The secrets of the job, read before anything of it runs. They are kept in memory alone."""

from typing import Dict, Mapping, Tuple

from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.mask import Mask
from vm_agent.retry import Patience
from vm_agent.secret_manager import SecretManager, SecretRefused

ACCESSOR_ROLE = 'roles/secretmanager.secretAccessor'


class JobSecrets:
    def __init__(self, manager: SecretManager, versions: Mapping[str, str], mask: Mask) -> None:
        """`versions`: by environment variable, `projects/P/secrets/S/versions/V`."""
        self._manager = manager
        self._versions = versions
        self.mask = mask

    def read(self, patience: Patience) -> Dict[str, str]:
        """
        The values by variable, which the mask hides from then on. Raises ReplicaEnded with SECRET_UNAVAILABLE where one
        was refused, and PassingFault.
        """
        values: Dict[str, str] = {}
        for variable, version in self._versions.items():
            try:
                values[variable] = self._manager.access(version, patience)
            except SecretRefused as error:
                raise ReplicaEnded(self._describe(variable, version, error)) from error
            self.mask.hide(values[variable])
        return values

    def _describe(self, variable: str, version: str, error: Exception) -> ExitReport:
        _, project, _, secret, _, number = version.split('/')
        message = f'Secret {secret}, version {number} in project {project}, for {variable} cannot be read: {error}'
        evidence = (str(error), *_remedies(secret, project, self._manager.account()))
        return ExitReport('SECRET_UNAVAILABLE', message, evidence=evidence)


def _remedies(secret: str, project: str, account: str) -> Tuple[str, str]:
    give_value = f'gcloud secrets versions add {secret} --project={project} --data-file=-'
    grant = (
        f'gcloud secrets add-iam-policy-binding {secret} --project={project} '
        f'--member=serviceAccount:{account} --role={ACCESSOR_ROLE}'
    )
    return (f'If it has no value: {give_value}', f'If the VM may not read it: {grant}')
