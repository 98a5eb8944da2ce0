"""
Event files that TensorFlow itself writes to the job directory in the bucket, past the VM's disk. TensorFlow writes the
whole object again at each flush: a new generation is read from where the one before ended.
"""

import threading
from typing import Any, Callable, Dict, List, Tuple

from vm_agent.http.request import Request
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.event_file import read_scalars
from vm_agent.metrics.sources.event_folder import FILE_COUNT_MAX, NAME_PART
from vm_agent.metrics.sources.event_runs import EventSource, is_evaluation
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.object_names import is_restorable
from vm_agent.storage.transfer.body import READ_BYTES
from vm_agent.storage.transfer.client import ObjectInfo, StorageRejected

# Listing more costs more than a metric is worth.
OBJECT_COUNT_MAX = 5_000
# The part of one object that one round holds in memory.
OBJECT_BYTES_MAX = 16_777_216
ROUND_BYTES_MAX = 67_108_864
REQUEST_TRIES_MAX = 3
REQUEST_SECONDS_MAX = 20.0
LAST_ROUND_SECONDS_MAX = 20.0
# Lists are billed.
INTERVAL_SECONDS_MIN = 10.0
CLOCK_ERROR_SECONDS = 1.0


class BucketEvents(EventSource):
    def __init__(self, directory: JobDirectory) -> None:
        super().__init__()
        self._directory = directory
        self._offsets: Dict[str, Tuple[str, int]] = {}
        self._samples: List[Sample] = []
        self._lock = threading.Lock()
        self._started_at = 0.0
        self._is_finished = threading.Event()

    def start(self, interval_seconds: float, started_at: float, is_needed: Callable[[], bool]) -> None:
        """
        Reads at every interval while `is_needed`, until `finish`. `started_at`, in seconds since the epoch: events from
        before it are of earlier attempts, whose metrics are known.
        """
        self._started_at = started_at
        interval_seconds = max(interval_seconds, INTERVAL_SECONDS_MIN)

        def run() -> None:
            while not self._is_finished.wait(interval_seconds):
                if is_needed():
                    self._read_objects(self._is_finished)

        threading.Thread(target=run, name='bucket-events', daemon=True).start()

    def finish(self) -> None:
        """Reads what is new for the last time; the program has ended."""
        self._is_finished.set()
        cancelled = threading.Event()
        timer = threading.Timer(LAST_ROUND_SECONDS_MAX, cancelled.set)
        timer.start()
        self._read_objects(cancelled)
        timer.cancel()

    def read(self, is_last: bool = False) -> List[Sample]:
        """Returns the scalars that were read since the last call. Does not wait for Cloud Storage."""
        with self._lock:
            samples, self._samples = self._samples, []
        return self._in_order(samples)

    def _read_objects(self, cancelled: threading.Event) -> None:
        """A failure is not reported: the next round reads the same, and the agent's own uploads report outages."""
        policy = RetryPolicy(REQUEST_TRIES_MAX, REQUEST_SECONDS_MAX, cancelled)
        bytes_left = ROUND_BYTES_MAX
        try:
            for name, info in self._find(policy):
                if cancelled.is_set() or bytes_left <= 0:
                    return
                bytes_left -= self._read_object(name, info)
        except (TransientError, StorageRejected):
            return

    def _find(self, policy: RetryPolicy) -> List[Tuple[str, ObjectInfo]]:
        """Returns the event files that have changed, and that no agent has uploaded from its disk."""
        found: List[Tuple[str, ObjectInfo]] = []
        for count, (name, info) in enumerate(self._directory.list(policy)):
            if count >= OBJECT_COUNT_MAX or len(found) >= FILE_COUNT_MAX:
                break
            is_events = NAME_PART in name.rpartition('/')[2] and info.author is None and is_restorable(name)
            if is_events and self._offsets.get(name, ('', 0))[0] != info.generation:
                found.append((name, info))
        return sorted(found, key=lambda one: not is_evaluation(one[0]))

    def _read_object(self, name: str, info: ObjectInfo) -> int:
        """Reads the new part of an object. Returns how many bytes were read."""
        offset = self._offsets.get(name, ('', 0))[1]
        offset = offset if offset <= info.size_bytes else 0
        data = self._download(info, offset)
        scalars, used = read_scalars(lambda start, size: data[start : start + size], 0, len(data) or 1)
        # The rest of an object that is too large for one round is read in the next one.
        is_whole = offset + len(data) >= info.size_bytes
        self._offsets[name] = (info.generation if is_whole else '', offset + used)
        since = self._started_at - CLOCK_ERROR_SECONDS
        scalars = [one for one in scalars if one.wall_time == 0 or one.wall_time >= since]
        with self._lock:
            self._samples += self._runs.samples_of(name, scalars)
        return len(data)

    def _download(self, info: ObjectInfo, offset: int) -> bytes:
        end = min(info.size_bytes, offset + OBJECT_BYTES_MAX)
        if end <= offset:
            return b''
        storage = self._directory.storage
        request = Request('GET', storage.media_url(info), {'Range': f'bytes={offset}-{end - 1}'})
        with storage.open(request) as response:
            # A server that ignores the range, as Cloud Storage does for what it decompresses, sends all bytes from the
            # first one. What follows those that were asked for is not read.
            skipped = offset if response.status == 200 else 0
            data = bytearray()
            while len(data) < skipped + end - offset and (piece := response.read(READ_BYTES)):
                data += piece
        return bytes(data[skipped : skipped + end - offset])

    def to_json(self) -> Dict[str, Any]:
        return {'offsets': self._offsets, **super().to_json()}

    def restore(self, body: Dict[str, Any]) -> None:
        self._offsets = {name: (str(generation), int(offset)) for name, (generation, offset) in body['offsets'].items()}
        super().restore(body)
