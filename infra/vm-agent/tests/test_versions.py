import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake_storage import BUCKET, FakeStorage

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer.client import Author, ObjectInfo

POLICY = RetryPolicy(1, 5)


class VersionsTest(unittest.TestCase):
    """The bucket deletes a replaced version if three newer ones exist: it may not be one that the manifest names."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.cloud = FakeStorage()
        self.cloud.is_versioned = True
        self.addCleanup(self.cloud.close)

    def open(self, attempt: int) -> JobDirectory:
        directory = JobDirectory(self.cloud.connect(), f'gs://{BUCKET}/p', Author('job', attempt))
        manifest = directory.claim(POLICY)
        output = self.folder / str(attempt)
        Restore(directory, OutputTree(output), 10**9, POLICY, lambda *_: None).run(manifest)
        return directory

    def save(self, directory: JobDirectory, text: str) -> ObjectInfo:
        path = self.folder / 'x'
        path.write_text(text)
        return directory.upload('x', path, POLICY)

    def replaced(self) -> List[bytes]:
        return [stored.body for (name, _), stored in self.cloud.versions.items() if name == 'p/x']

    def test_uploads_that_are_never_committed_keep_only_the_committed_version(self) -> None:
        directory = self.open(1)
        directory.write_manifest(Manifest(None, {'x': self.save(directory, 'committed')}), POLICY)
        for number in range(5):
            self.save(directory, f'uncommitted {number}')
        self.assertEqual(self.replaced(), [b'committed'])

    def test_attempts_that_end_before_they_commit_keep_only_the_committed_version(self) -> None:
        directory = self.open(1)
        directory.write_manifest(Manifest(None, {'x': self.save(directory, 'committed')}), POLICY)
        for attempt in range(2, 7):
            self.save(self.open(attempt), f'of attempt {attempt}')
        self.assertEqual(self.replaced(), [b'committed'])
        self.open(7)
        self.assertEqual((self.folder / '7' / 'x').read_text(), 'committed')

    def test_deletes_nothing_that_a_manifest_names_whose_answer_was_lost(self) -> None:
        directory = self.open(1)
        directory.write_manifest(Manifest(None, {'x': self.save(directory, 'first')}), POLICY)
        second = self.save(directory, 'second')
        self.cloud.lose_answer = lambda received: received.path.endswith('/p/dropforge-manifest.json')
        with self.assertRaises(TransientError):
            directory.write_manifest(Manifest(None, {'x': second}), POLICY)
        self.cloud.lose_answer = lambda _: False
        self.save(directory, 'third')
        self.assertIn(b'second', self.replaced())
        self.open(2)
        self.assertEqual((self.folder / '2' / 'x').read_text(), 'second')

    def test_keeps_versions_of_another_writer(self) -> None:
        self.cloud.put('p/x', b"the user's", 1)
        directory = self.open(1)
        self.save(directory, 'mine')
        self.assertEqual(self.replaced(), [b"the user's"])


if __name__ == '__main__':
    unittest.main()
