"""This VM: what it was created for, where its files are, and its access to Cloud Storage."""

from dataclasses import dataclass
from pathlib import Path

from vm_agent.control.config import Config
from vm_agent.control.metadata_server import Instance
from vm_agent.http.cached_token import CachedToken
from vm_agent.shell.enter import DEFAULT_HOME
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.output.staging import STAGING_FOLDER


@dataclass(frozen=True)
class Vm:
    config: Config
    home: Path
    instance: Instance
    boot: int
    """0 for the VM's first boot."""
    token: CachedToken
    """The access token of the VM's service account."""
    directory: JobDirectory

    @property
    def mark(self) -> str:
        """The value of VM_MARKER, unique to this VM on this machine."""
        return f'{self.instance.instance_id}@{self.home}'

    @property
    def has_own_machine(self) -> bool:
        """Whether there is no other VM on this machine, as there is in the embedded cloud."""
        return self.home == DEFAULT_HOME

    @property
    def output(self) -> Path:
        return self.home / 'output'

    @property
    def staging(self) -> Path:
        return self.home / STAGING_FOLDER

    @property
    def venv(self) -> Path:
        return self.home / 'venv'
