"""The state that the steps of a replica's lifecycle share."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Mapping, Optional, Protocol

from vm_agent.cache.store import BackgroundStore
from vm_agent.container.pull import RegistryAccess
from vm_agent.control.config import Config
from vm_agent.control.output_findings import OutputFindings
from vm_agent.control.state_file import State
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.supervisor import Supervisor
from vm_agent.http.retry import RetryPolicy
from vm_agent.metrics.program_metrics import ProgramMetrics
from vm_agent.program.exit_report import ExitReport
from vm_agent.program.usage import DiskMeter
from vm_agent.setup.job_secrets import JobSecrets
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.output.output_sync import OutputSync
from vm_agent.storage.transfer.client import Storage

# How long Cloud Storage may fail during setup before another VM is tried; heartbeats extend the lease meanwhile.
SETUP_RETRY_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Replica:
    """The collaborators of the modules that run a replica."""

    config: Config
    home: Path
    vm: str
    """The value of VM_MARKER, unique to this VM on this machine."""
    storage: Storage
    directory: JobDirectory
    secrets: JobSecrets
    sync: OutputSync
    supervisor: Supervisor
    background_store: BackgroundStore
    stop_signal: StopSignal
    set_phase: Callable[[str], None]
    may_start: Callable[[], bool]
    """Whether all VMs of the cluster are known to exist."""
    log: Callable[[str, str], None]
    write_state: Callable[[State], None]
    metrics: ProgramMetrics
    disk: DiskMeter
    findings: OutputFindings
    registry_access: RegistryAccess
    started_at: float = field(default_factory=time.monotonic)

    @property
    def setup_deadline(self) -> float:
        """By time.monotonic(): after it, the control plane considers this VM lost, and a report comes too late."""
        return self.started_at + self.config.limits.setup_seconds

    @property
    def retry_policy(self) -> RetryPolicy:
        """For requests during setup."""
        return RetryPolicy(sys.maxsize, SETUP_RETRY_SECONDS_MAX, self.stop_signal.requested, self.setup_deadline)

    @property
    def output(self) -> Path:
        return self.home / 'output'


class Launcher(Protocol):
    """How a program of one kind is installed and run: a Python module or a container."""

    def install(self, replica: Replica, state: State, secrets: Mapping[str, str]) -> State:
        """
        Makes everything ready that does not depend on earlier attempts. Raises ReplicaEnded, and TransientError. Called
        at every boot: the state says what an earlier one has done.
        """
        ...

    def working_directory(self, replica: Replica, state: State) -> Optional[Path]:
        """Returns the program's working directory as it is before the program starts; None if it is not on this disk."""
        ...

    def run(self, replica: Replica, state: State, secrets: Mapping[str, str]) -> ExitReport:
        """Runs the program to its end; nothing of it is left. Raises ReplicaEnded if it was not started."""
        ...
