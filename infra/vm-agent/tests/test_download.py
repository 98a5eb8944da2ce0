import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from storage_under_test import StorageUnderTest
from vm_agent.retry import PassingFault, Patience, call_patiently
from vm_agent.storage import StorageRefused, read_object_info

TRIES_MAX = 3


class DownloadTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = StorageUnderTest()
        self.addCleanup(self.cloud.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.target = Path(folder.name, 'checkpoint')
        self.stored = self.cloud.put('checkpoint', bytes(range(100)) * 10, 1)

    def download(self, patience: Patience) -> None:
        self.cloud.connect().download(read_object_info(self.stored.resource), self.target, patience)

    def test_that_gets_on_is_not_given_up_however_often_its_connection_breaks(self) -> None:
        self.cloud.bytes_a_connection = 100
        self.download(Patience(TRIES_MAX, seconds_max=30))
        self.assertEqual(self.target.read_bytes(), self.stored.body)
        self.assertEqual([asked.start for asked in self.cloud.asked], list(range(0, 1_000, 100)))

    def test_that_stands_still_is_given_up(self) -> None:
        self.cloud.bytes_a_connection = 100
        self.cloud.refuse = lambda asked: 503 if asked.start >= 300 else None
        with self.assertRaisesRegex(PassingFault, '503'):
            self.download(Patience(TRIES_MAX, seconds_max=30))
        # The try that has brought the last bytes is the first of those that count.
        self.assertEqual([asked.start for asked in self.cloud.asked], [0, 100, 200, *[300] * (TRIES_MAX - 1)])

    def test_that_is_answered_from_its_beginning_again_and_again_is_given_up(self) -> None:
        self.cloud.bytes_a_connection = 100
        self.cloud.ignores_ranges = True
        with self.assertRaises(PassingFault):
            self.download(Patience(TRIES_MAX, seconds_max=30))

    def test_that_is_refused_is_not_repeated(self) -> None:
        self.cloud.refuse = lambda _: 403
        with self.assertRaises(StorageRefused):
            self.download(Patience(TRIES_MAX, seconds_max=30))
        self.assertEqual(len(self.cloud.asked), 1)


class PatienceTest(unittest.TestCase):
    def test_ends_at_its_deadline_whatever_progress_is_made(self) -> None:
        tries: List[int] = []

        def fail() -> None:
            tries.append(len(tries))
            raise PassingFault('busy')

        for seconds in (0.5, -1):
            tries.clear()
            patience = Patience(1_000, 600, ends_at=time.monotonic() + seconds)
            with self.assertRaises(PassingFault):
                call_patiently(fail, patience, lambda: len(tries))
        # The deadline had passed before the first try.
        self.assertEqual(len(tries), 1)


if __name__ == '__main__':
    unittest.main()
