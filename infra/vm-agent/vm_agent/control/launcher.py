"""How a program of one kind is installed and run, a Python module or a container, and what all kinds use for that."""

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Mapping, Optional, Protocol, Sequence, Tuple

from vm_agent.control.state_file import StateFile
from vm_agent.control.supervisor import Supervisor
from vm_agent.control.vm import Vm
from vm_agent.http.retry import RetryPolicy
from vm_agent.program.child_process import Command
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.environment import VM_MARKER
from vm_agent.setup.job_secrets import JobSecrets
from vm_agent.setup.packages import Archive, download_packages


@dataclass(frozen=True)
class Setup:
    vm: Vm
    state: StateFile
    supervisor: Supervisor
    policy: RetryPolicy
    """For requests. After its deadline, the control plane considers this VM lost, and a report comes too late."""
    secrets: JobSecrets
    set_phase: Callable[[str], None]
    log: Callable[[str, str], None]

    def download_archives(self) -> Tuple[Archive, ...]:
        """Returns the job's packages on the disk, in order. Raises ReplicaEnded, and TransientError."""
        self.set_phase('DOWNLOADING')
        packages, folder = self.vm.config.packages, self.vm.home / 'packages'
        try:
            archives = download_packages(self.vm.directory.storage, packages, folder, self.policy)
        except ReplicaEnded:
            # A reason to stop takes precedence.
            self.supervisor.check()
            raise
        self.supervisor.check()
        return archives

    def command(self, argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> Command:
        return Command(argv, environment, folder, f'{VM_MARKER}={self.vm.mark}'.encode(), self.secrets.mask)


class Launcher(Protocol):
    def install(self, secrets: Mapping[str, str]) -> None:
        """
        Makes everything ready that does not depend on earlier attempts. Raises ReplicaEnded, and TransientError. Called
        at every boot: the state says what an earlier one has done.
        """
        ...

    def working_directory(self) -> Optional[Path]:
        """
        Returns the program's working directory as it is before the program starts; None if it is not on this disk.
        """
        ...

    def run(self, secrets: Mapping[str, str], resume_arguments: Sequence[str]) -> ExitReport:
        """Runs the program to its end; nothing of it is left. Raises ReplicaEnded if it was not started."""
        ...
