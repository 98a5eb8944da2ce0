"""
The final save of the attempt before, in a cluster: its master can be healthy, as it was another replica that was lost.
"""

import time
from dataclasses import dataclass
from typing import Callable, Optional

from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.transfer.client import ObjectInfo

# Between two looks at the manifest.
POLL_SECONDS = 1.0
# From the end of the master's wait until its claim, if its VM starts later than others.
CLAIM_SECONDS_MAX = 600.0


@dataclass(frozen=True)
class EarlierSave:
    directory: JobDirectory
    policy: RetryPolicy
    wait: Callable[[float], None]
    """Waits for some seconds; may raise to end the wait."""
    log: Callable[[str, str], None]

    def wait_for(self, seconds: float, is_master: bool) -> None:
        """
        Returns when the attempt before can save no more; immediately if `seconds` is 0. For the master, that is when it
        has saved everything, or after `seconds`. Other replicas wait for the master's claim, so that all of them restore
        the same files, and for CLAIM_SECONDS_MAX longer, as their VMs do not start at the same time. Raises Fenced,
        StorageRejected, TransientError, and what `wait` raises.
        """
        if seconds == 0:
            return
        give_up_at = time.monotonic() + seconds + (0 if is_master else CLAIM_SECONDS_MAX)
        is_over = self._has_ended if is_master else self._is_claimed
        is_logged = False
        while not is_over(self.directory.stat(MANIFEST_NAME, self.policy)):
            if time.monotonic() >= give_up_at:
                missing = (
                    'The attempt before has not saved everything'
                    if is_master
                    else 'The master has not claimed the directory'
                )
                self.log(f'{missing}: the last committed files are restored.', 'WARNING')
                return
            if not is_logged:
                self.log('The outputs of the attempt before are awaited, which may still be saving them.', 'INFO')
                is_logged = True
            self.wait(POLL_SECONDS)

    def _has_ended(self, manifest: Optional[ObjectInfo]) -> bool:
        author = None if manifest is None else manifest.author
        is_earlier = author is not None and self.directory.author.fences(author)
        return not is_earlier or (manifest is not None and manifest.has_ended)

    def _is_claimed(self, manifest: Optional[ObjectInfo]) -> bool:
        """Another job that has taken over the directory since is not awaited."""
        own, author = self.directory.author, None if manifest is None else manifest.author
        return author is not None and (author.job_id != own.job_id or author.attempt >= own.attempt)
