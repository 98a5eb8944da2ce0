"""
The final save of the attempt before, in a cluster: its master can be healthy, as it was another replica that was lost.
"""

import time
from dataclasses import dataclass
from typing import Callable, Optional

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.transfer.client import ObjectInfo

# Between two looks at the manifest.
POLL_SECONDS = 1.0
# A master awaits the attempt before, and its VM may start later than others.
CLAIM_SECONDS_MAX = 1_200.0
ENDED_AWAITED = 'The outputs of the attempt before are awaited, which may still be saving them.'
CLAIM_AWAITED = 'The master is awaited, which finds the files that all replicas restore.'


@dataclass(frozen=True)
class EarlierSave:
    directory: JobDirectory
    policy: RetryPolicy
    wait: Callable[[float], None]
    """Waits for some seconds; may raise to end the wait."""
    log: Callable[[str, str], None]

    def wait_for_end(self, seconds: float) -> None:
        """
        Returns when the attempt before has saved everything, or after `seconds`, for the master. Raises Fenced,
        StorageRejected, TransientError, and what `wait` raises.
        """
        if seconds > 0 and not self._wait(self._has_ended, seconds, ENDED_AWAITED):
            missing = 'The attempt before has not saved everything: the last committed files are restored.'
            self.log(missing, 'WARNING')

    def wait_for_claim(self) -> None:
        """
        Returns when the master has claimed the directory, so that all replicas restore the same files: an earlier
        attempt may still commit others until then. Raises TransientError after CLAIM_SECONDS_MAX, and as above.
        """
        if not self._wait(self._is_claimed, CLAIM_SECONDS_MAX, CLAIM_AWAITED):
            raise TransientError(f'The master has not claimed the job directory for {CLAIM_SECONDS_MAX:.0f} s.')

    def _wait(self, is_over: Callable[[Optional[ObjectInfo]], bool], seconds: float, awaited: str) -> bool:
        give_up_at = time.monotonic() + seconds
        is_logged = False
        while not is_over(self.directory.stat(MANIFEST_NAME, self.policy)):
            if time.monotonic() >= give_up_at:
                return False
            if not is_logged:
                self.log(awaited, 'INFO')
                is_logged = True
            self.wait(POLL_SECONDS)
        return True

    def _has_ended(self, manifest: Optional[ObjectInfo]) -> bool:
        author = None if manifest is None else manifest.author
        is_earlier = author is not None and self.directory.author.fences(author)
        return not is_earlier or (manifest is not None and manifest.has_ended)

    def _is_claimed(self, manifest: Optional[ObjectInfo]) -> bool:
        """Another job that has taken over the directory since is not awaited."""
        own, author = self.directory.author, None if manifest is None else manifest.author
        return author is not None and (author.job_id != own.job_id or author.attempt >= own.attempt)
