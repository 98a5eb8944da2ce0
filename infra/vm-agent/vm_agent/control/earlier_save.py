"""The final save of the attempt before, in a cluster: its master can be healthy, as it was another replica that was lost."""

import time
from typing import Optional

from vm_agent.control.context import Replica
from vm_agent.storage.transfer.client import ObjectInfo

# Between two looks at the manifest.
POLL_SECONDS = 1.0
# From the end of the master's wait until its claim, if its VM starts later than others.
CLAIM_SECONDS_MAX = 600.0


def await_earlier_save(replica: Replica) -> None:
    """
    Returns when the attempt before can save no more. For the master, that is when it has saved everything, or after
    `earlier_save_seconds`. Other replicas wait for the master's claim, so that all of them restore the same files, and
    for CLAIM_SECONDS_MAX longer, as their VMs do not start at the same time. Raises ReplicaEnded, Fenced,
    StorageRejected and TransientError.
    """
    seconds = replica.config.limits.earlier_save_seconds
    if seconds == 0:
        return
    is_master = replica.config.spec.saves_output
    give_up_at = time.monotonic() + seconds + (0 if is_master else CLAIM_SECONDS_MAX)
    is_over = _has_ended if is_master else _is_claimed
    is_logged = False
    while not is_over(replica, replica.directory.stat_manifest(replica.retry_policy)):
        if time.monotonic() >= give_up_at:
            missing = 'The attempt before has not saved everything' if is_master else 'The master has not claimed the directory'
            replica.log(f'{missing}: the last committed files are restored.', 'WARNING')
            return
        if not is_logged:
            replica.log('The outputs of the attempt before are awaited, which may still be saving them.', 'INFO')
            is_logged = True
        replica.stop_signal.wait(POLL_SECONDS)
        replica.supervisor.check()


def _has_ended(replica: Replica, manifest: Optional[ObjectInfo]) -> bool:
    author = None if manifest is None else manifest.author
    is_earlier = author is not None and replica.directory.author.fences(author)
    return not is_earlier or (manifest is not None and manifest.has_ended)


def _is_claimed(replica: Replica, manifest: Optional[ObjectInfo]) -> bool:
    """Another job that has taken over the directory since is not awaited."""
    own, author = replica.directory.author, None if manifest is None else manifest.author
    return author is not None and (author.job_id != own.job_id or author.attempt >= own.attempt)
