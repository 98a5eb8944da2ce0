import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from fake_storage import FakeStorage
from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.transfer.client import StorageRejected, parse_object_info
from vm_agent.storage.transfer.download import download_file

TRIES_MAX = 3


class RetryPolicyTest(unittest.TestCase):
    def test_stops_after_its_tries_and_when_it_is_cancelled(self) -> None:
        tries = []

        def fail() -> None:
            tries.append(1)
            raise TransientError('always')

        with self.assertRaises(TransientError):
            call_with_retry(fail, RetryPolicy(tries_max=2, seconds_max=60))
        self.assertEqual(len(tries), 2)
        cancelled = threading.Event()
        cancelled.set()
        with self.assertRaises(TransientError):
            call_with_retry(fail, RetryPolicy(tries_max=100, seconds_max=600, cancelled=cancelled))
        self.assertEqual(len(tries), 3)

    def test_stops_at_its_deadline_even_if_there_is_progress(self) -> None:
        tries: List[int] = []

        def fail() -> None:
            tries.append(len(tries))
            raise TransientError('busy')

        for seconds in (0.5, -1):
            tries.clear()
            policy = RetryPolicy(1_000, 600, deadline=time.monotonic() + seconds)
            with self.assertRaises(TransientError):
                call_with_retry(fail, policy, lambda: len(tries))
        # The second deadline had passed before the first try.
        self.assertEqual(len(tries), 1)


class DownloadTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = FakeStorage()
        self.addCleanup(self.cloud.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.target = Path(folder.name, 'checkpoint')
        self.stored = self.cloud.put('checkpoint', bytes(range(100)) * 10, 1)

    def download(self, policy: RetryPolicy) -> None:
        download_file(self.cloud.connect(), parse_object_info(self.stored.resource), self.target, policy)

    def test_that_makes_progress_is_resumed_after_any_number_of_broken_connections(self) -> None:
        self.cloud.bytes_per_connection = 100
        self.download(RetryPolicy(TRIES_MAX, seconds_max=30))
        self.assertEqual(self.target.read_bytes(), self.stored.body)
        self.assertEqual([received.start for received in self.cloud.received], list(range(0, 1_000, 100)))

    def test_that_makes_no_progress_fails_after_its_tries(self) -> None:
        self.cloud.bytes_per_connection = 100
        self.cloud.reject = lambda received: 503 if received.start >= 300 else None
        with self.assertRaisesRegex(TransientError, '503'):
            self.download(RetryPolicy(TRIES_MAX, seconds_max=30))
        # The try that received the last bytes is the first one that counts.
        self.assertEqual([received.start for received in self.cloud.received], [0, 100, 200, *[300] * (TRIES_MAX - 1)])

    def test_that_always_restarts_at_the_first_byte_fails_after_its_tries(self) -> None:
        self.cloud.bytes_per_connection = 100
        self.cloud.ignores_ranges = True
        with self.assertRaises(TransientError):
            self.download(RetryPolicy(TRIES_MAX, seconds_max=30))

    def test_that_is_rejected_is_not_retried(self) -> None:
        self.cloud.reject = lambda _: 403
        with self.assertRaises(StorageRejected):
            self.download(RetryPolicy(TRIES_MAX, seconds_max=30))
        self.assertEqual(len(self.cloud.received), 1)


if __name__ == '__main__':
    unittest.main()
