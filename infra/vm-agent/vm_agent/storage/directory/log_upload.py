"""Uploads the parts of the complete log to the job directory, while the program runs and at its end."""

from typing import Callable, Optional

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.logs.full_log import FullLog
from vm_agent.storage.directory.job_directory import Fenced, JobDirectory
from vm_agent.storage.directory.object_names import LOGS_PREFIX
from vm_agent.storage.directory.repeated_upload import RepeatedUpload
from vm_agent.storage.transfer.body import FileChanged
from vm_agent.storage.transfer.client import StorageRejected

# Over all parts of one boot of a replica, compressed.
UPLOADED_BYTES_MAX = 17_179_869_184
POLL_SECONDS = 2.0


def logs_prefix_of(job_id: str) -> str:
    """Below the job directory, which several jobs may share: none replaces the log of another."""
    return f'{LOGS_PREFIX}{job_id}/'


class LogUpload:
    def __init__(self, full_log: FullLog, directory: JobDirectory, log: Callable[[str, str], None]) -> None:
        self._full_log = full_log
        self._directory = directory
        self._log = log
        self._uploaded_bytes = 0
        self._repeated = RepeatedUpload('log-upload', self._upload_all, log)

    def start(self) -> None:
        self._repeated.start(POLL_SECONDS, self._full_log.flush)

    def finish(self, seconds_max: float) -> None:
        """See RepeatedUpload."""
        if self._repeated.finish(seconds_max) and self._full_log.lost_bytes:
            self._log(
                f'{self._full_log.lost_bytes} bytes of output are missing in the complete log: '
                'its share of the disk was full.',
                'WARNING',
            )

    def _upload_all(self, policy: RetryPolicy) -> Optional[str]:
        """Returns why some parts remain, or None."""
        while (part := self._full_log.next_part()) is not None:
            try:
                size_bytes = part.stat().st_size
                if self._uploaded_bytes + size_bytes > UPLOADED_BYTES_MAX:
                    return f'The complete log has reached its limit of {UPLOADED_BYTES_MAX} bytes.'
                self._directory.upload(logs_prefix_of(self._directory.author.job_id) + part.name, part, policy)
                self._uploaded_bytes += size_bytes
                self._full_log.remove(part)
            except (OSError, FileChanged, TransientError, StorageRejected, Fenced) as error:
                return f'A part of the complete log could not be uploaded: {error}'
        return None
