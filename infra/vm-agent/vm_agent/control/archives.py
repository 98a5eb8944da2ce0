"""The job's packages on the VM's disk."""

from typing import Tuple

from vm_agent.control.context import Replica
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.packages import Archive, download_packages


def download_archives(replica: Replica) -> Tuple[Archive, ...]:
    """Returns the packages, in the order of the job. Raises ReplicaEnded, and TransientError."""
    replica.set_phase('DOWNLOADING')
    packages, folder = replica.config.packages, replica.home / 'packages'
    try:
        archives = download_packages(replica.storage, packages, folder, replica.retry_policy)
    except ReplicaEnded:
        # A reason to stop takes precedence.
        replica.supervisor.check()
        raise
    replica.supervisor.check()
    return archives
