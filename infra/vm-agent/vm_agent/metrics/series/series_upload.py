"""Uploads the parts of the metric histories to the job directory: the open part again and again, until it is closed."""

import gzip
from typing import Callable, List, Optional, Sequence

from vm_agent.http.retry import RetryPolicy
from vm_agent.metrics.series.series_files import SeriesFile
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.object_names import SERIES_PREFIX
from vm_agent.storage.directory.repeated_upload import RepeatedUpload

# zlib's fastest level: 1 MiB takes some 10 ms.
COMPRESSION_LEVEL = 1


def series_prefix_of(job_id: str) -> str:
    """Below the job directory, which several jobs may share."""
    return f'{SERIES_PREFIX}{job_id}/'


class SeriesUpload:
    def __init__(
        self, histories: Sequence[SeriesHistory], directory: JobDirectory, log: Callable[[str, str], None]
    ) -> None:
        self._histories = histories
        self._directory = directory
        self.before_upload: List[Callable[[], None]] = []
        repeated = RepeatedUpload('series-upload', self._upload, log)
        self.start, self.finish = repeated.start, repeated.finish

    def _upload(self, policy: RetryPolicy) -> Optional[str]:
        """A part that is not uploaded now is uploaded in the next round."""
        try:
            for prepare in self.before_upload:
                prepare()
            for history in self._histories:
                for file in history.to_upload():
                    history.record_upload(file, self._upload_file(file, policy))
        except Exception as error:
            # A job is not lost for a chart, whatever went wrong.
            return f'Metrics could not be uploaded: {error}'
        return None

    def _upload_file(self, file: SeriesFile, policy: RetryPolicy) -> int:
        """Returns how many bytes of the file were uploaded."""
        size_bytes = file.committed_bytes
        with open(file.path, 'rb') as opened:
            data = opened.read(size_bytes)
        name = series_prefix_of(self._directory.author.job_id) + file.object_name
        # Without a time in its head, the same bytes are the same object.
        self._directory.upload_bytes(name, gzip.compress(data, COMPRESSION_LEVEL, mtime=0), policy)
        return size_bytes
