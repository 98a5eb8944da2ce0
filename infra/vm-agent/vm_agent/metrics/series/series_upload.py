"""Uploads the parts of the metric histories to the job directory: the open part again and again, until it is closed."""

import gzip
import sys
import threading
from typing import Callable, List, Optional, Sequence

from vm_agent.http.retry import RetryPolicy
from vm_agent.metrics.series.series_files import SeriesFile
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.object_names import SERIES_PREFIX

TRIES_MAX = 5
TRY_SECONDS_MAX = 60.0
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
        self._log = log
        self._last_problem: Optional[str] = None
        self._round = threading.Lock()
        self._is_finishing = threading.Event()
        self.before_upload: List[Callable[[], None]] = []

    def start(self, interval_seconds: float) -> None:
        def run() -> None:
            policy = RetryPolicy(TRIES_MAX, TRY_SECONDS_MAX, self._is_finishing)
            while not self._is_finishing.wait(interval_seconds):
                self._upload(policy)

        threading.Thread(target=run, name='series-upload', daemon=True).start()

    def finish(self, seconds_max: float) -> None:
        """Uploads the rest, for at most `seconds_max`, and logs what is not uploaded. May be called again."""
        self._is_finishing.set()
        self._upload(RetryPolicy(sys.maxsize, seconds_max))

    def _upload(self, policy: RetryPolicy) -> None:
        """Does not raise: what is not uploaded now is uploaded in the next round."""
        with self._round:
            problem: Optional[str] = None
            try:
                for prepare in self.before_upload:
                    prepare()
                for history in self._histories:
                    for file in history.to_upload():
                        history.record_upload(file, self._upload_file(file, policy))
            except Exception as error:
                # A job is not lost for a chart, whatever went wrong.
                problem = f'Metrics could not be uploaded: {error}'
            if problem is not None and problem != self._last_problem:
                self._log(problem, 'WARNING')
            self._last_problem = problem

    def _upload_file(self, file: SeriesFile, policy: RetryPolicy) -> int:
        """Returns how many bytes of the file were uploaded."""
        size_bytes = file.committed_bytes
        with open(file.path, 'rb') as opened:
            data = opened.read(size_bytes)
        name = series_prefix_of(self._directory.author.job_id) + file.object_name
        # Without a time in its head, the same bytes are the same object.
        self._directory.upload_bytes(name, gzip.compress(data, COMPRESSION_LEVEL, mtime=0), policy)
        return size_bytes
