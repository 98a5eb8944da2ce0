"""Going back to the files of an earlier moment."""

import itertools
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Optional

from fake_storage import FakeStorage
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.restore.rollback import Moment, RolledBack, Rollback
from vm_agent.storage.transfer.client import Author, ObjectInfo

POLICY = RetryPolicy(tries_max=2, seconds_max=5.0)
KEPT = 'dropforge-rolled-back/attempt-1/'


class RollbackTest(unittest.TestCase):
    """The n-th object that is written was created n seconds after the epoch; generations say nothing about times."""

    def setUp(self) -> None:
        self.storage = FakeStorage()
        self.addCleanup(self.storage.close)
        self.storage.is_versioned = True
        seconds = itertools.count(1)
        self.storage.now = lambda: float(next(seconds))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.directory = JobDirectory(self.storage.connect(), 'gs://bucket/job', Author('digits', 1))
        self.directory.claim(POLICY)
        self.saved: Dict[str, ObjectInfo] = {}

    def save(self, **texts: str) -> float:
        """Saves files and commits them. Returns the time of the manifest."""
        for name, text in texts.items():
            path = self.folder / name.replace('_', '.')
            path.write_text(text, 'utf-8')
            self.saved[path.name] = self.directory.upload(path.name, path, POLICY)
        self.directory.write_manifest(Manifest(None, self.saved), POLICY)
        return self.storage.objects[f'job/{MANIFEST_NAME}'].created_at

    def roll_back(self, before: Optional[float], started_at: float = 0.0) -> Optional[RolledBack]:
        return Rollback(self.directory, POLICY).run(Moment(before, started_at))

    def restored(self) -> Dict[str, str]:
        """Returns what the next attempt restores."""
        files = JobDirectory(self.storage.connect(), 'gs://bucket/job', Author('digits', 2)).claim(POLICY).files
        found = {name: self.storage.find(f'job/{name}', info.generation) for name, info in files.items()}
        return {name: stored.body.decode() for name, stored in found.items() if stored is not None}

    def test_restores_the_newest_files_from_before_and_keeps_the_newer_ones(self) -> None:
        self.save(weights='1', config='a')
        self.save(weights='2')
        bad_since = self.save(weights='3') + 0.5
        self.save(weights='nan', extra='new')
        rolled_back = self.roll_back(bad_since)
        self.assertEqual(self.restored(), {'weights': '3', 'config': 'a'})
        self.assertEqual(self.storage.objects[f'job/{KEPT}weights'].body, b'nan')
        self.assertEqual(self.storage.objects[f'job/{KEPT}extra'].body, b'new')
        self.assertEqual(sorted(rolled_back.kept if rolled_back else ()), ['extra', 'weights'])
        # The claim, 'config' and 'weights' with their manifest, and 'weights' twice more.
        self.assertEqual(rolled_back.saved_at if rolled_back else None, 7.0)

    def test_begins_from_scratch_if_nothing_was_saved_by_then(self) -> None:
        before = self.storage.objects[f'job/{MANIFEST_NAME}'].created_at + 0.5
        self.save(weights='nan')
        rolled_back = self.roll_back(before)
        self.assertIsNone(rolled_back.saved_at if rolled_back else 0.0)
        self.assertEqual(self.restored(), {})

    def test_goes_further_back_if_what_was_restored_is_at_fault(self) -> None:
        self.save(weights='1')
        started_at = self.save(weights='2') + 0.5
        self.save(weights='nan')
        self.roll_back(None, started_at)
        self.assertEqual(self.restored(), {'weights': '1'})

    def test_changes_nothing_if_the_bucket_has_kept_no_earlier_version(self) -> None:
        self.save(weights='1')
        bad_since = self.save(weights='2') + 0.5
        self.save(weights='nan')
        for name, generation in list(self.storage.versions):
            if name == 'job/weights':
                del self.storage.versions[name, generation]
        # The first claim named nothing, which is no checkpoint of this training.
        self.storage.versions = {key: one for key, one in self.storage.versions.items() if b'weights' in one.body}
        self.assertIsNone(self.roll_back(bad_since))
        self.assertEqual(self.restored(), {'weights': 'nan'})

    def test_a_log_whose_earlier_version_is_gone_stays_as_it_is(self) -> None:
        bad_since = self.save(weights='1', train_log='a\n') + 0.5
        self.save(weights='nan', train_log='a\nb\n')
        self.storage.versions = {key: one for key, one in self.storage.versions.items() if key[0] != 'job/train.log'}
        self.roll_back(bad_since)
        self.assertEqual(self.restored(), {'weights': '1', 'train.log': 'a\nb\n'})


if __name__ == '__main__':
    unittest.main()
