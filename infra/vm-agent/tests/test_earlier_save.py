"""The wait for the final save of the attempt before, against a fake Cloud Storage."""

import threading
import unittest
from typing import List

from fake_storage import BUCKET, FakeStorage
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.restore.earlier_save import EarlierSave
from vm_agent.storage.transfer.client import END_KEY, Author

POLICY = RetryPolicy(tries_max=1, seconds_max=5)


class EarlierSaveTest(unittest.TestCase):
    def setUp(self) -> None:
        cloud = FakeStorage()
        self.addCleanup(cloud.close)
        self.storage = cloud.connect()
        self.logged: List[str] = []
        self.directory(1).claim(POLICY)

    def directory(self, attempt: int) -> JobDirectory:
        return JobDirectory(self.storage, f'gs://{BUCKET}/p', Author('cluster', attempt))

    def open(self) -> EarlierSave:
        def wait(_seconds: float) -> None:
            threading.Event().wait(0.01)

        log = lambda text, _severity: self.logged.append(text)
        return EarlierSave(self.directory(2), POLICY, wait, log)

    def test_a_master_that_never_says_that_it_has_ended_is_awaited_for_a_limited_time(self) -> None:
        self.open().wait_for_end(0.1)
        self.assertRegex(self.logged[-1], 'has not saved everything')

    def test_the_wait_is_over_when_everything_is_saved(self) -> None:
        self.directory(1).write_manifest(Manifest(None), POLICY, (END_KEY,))
        self.open().wait_for_end(60)
        self.assertEqual(self.logged, [])

    def test_other_replicas_restore_what_their_master_does(self) -> None:
        self.directory(1).write_manifest(Manifest(None), POLICY, (END_KEY,))
        waiting = threading.Thread(target=self.open().wait_for_claim, daemon=True)
        waiting.start()
        waiting.join(0.3)
        self.assertTrue(waiting.is_alive())
        self.directory(2).claim(POLICY)
        waiting.join(10)
        self.assertFalse(waiting.is_alive())


if __name__ == '__main__':
    unittest.main()
