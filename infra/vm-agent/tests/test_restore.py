import errno
import os
import sys
import tempfile
import threading
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Optional

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from fake_storage import BUCKET, FakeStorage, Received, StoredObject
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import PARTS_PREFIX
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.local_files import MASTER
from vm_agent.storage.restore.restore import Restore, describe_restore_error, select_objects
from vm_agent.storage.transfer.client import REQUESTS_MAX, Author, ObjectInfo, parse_object_info

EARLIER = Author('digits', 3)
AUTHOR = Author('digits', 4)
POLICY = RetryPolicy(tries_max=3, seconds_max=30)


def info(name: str, generation: int, author: Optional[Author] = EARLIER) -> ObjectInfo:
    return ObjectInfo(BUCKET, f'p/{name}', str(generation), 1, 'AAAAAA==', None, author)


def committed(*objects: StoredObject) -> Manifest:
    """The last manifest of an earlier attempt; it has fewer checksums than the object resources."""
    files = {one.name[len('p/') :]: replace(parse_object_info(one.resource), md5=None, author=None) for one in objects}
    return Manifest(EARLIER, files)


class SelectionTest(unittest.TestCase):
    def test_selects_exactly_the_generations_that_the_manifest_names(self) -> None:
        live = {
            'kept': info('kept', 5),
            'rewritten': info('rewritten', 12),
            'uploaded-but-never-committed': info('uploaded-but-never-committed', 11),
            'deleted-by-the-program': info('deleted-by-the-program', 2),
            'by-the-program': info('by-the-program', 11, None),
            'committed-by-the-program': info('committed-by-the-program', 3, None),
        }
        generations = {'kept': 5, 'rewritten': 6, 'gone': 4, 'committed-by-the-program': 3}
        manifest = Manifest(EARLIER, {name: info(name, generation) for name, generation in generations.items()})
        selected = select_objects(live, manifest, MASTER)
        self.assertEqual({name: int(found.generation) for name, found in selected.items()}, generations)

    def test_selects_nothing_before_the_first_commit(self) -> None:
        self.assertEqual(select_objects({'half-of-a-set': info('half-of-a-set', 5)}, Manifest(None), MASTER), {})


class RestoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = FakeStorage()
        self.addCleanup(self.cloud.close)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name, 'output')
        self.folder.mkdir()
        self.logged: List[str] = []

    def restore(
        self, manifest: Manifest, bytes_max: int = 1_000, policy: RetryPolicy = POLICY
    ) -> Dict[str, ObjectInfo]:
        directory = JobDirectory(self.cloud.connect(), f'gs://{BUCKET}/p', AUTHOR)
        tree = OutputTree(self.folder)
        return Restore(directory, tree, bytes_max, policy, lambda text, _: self.logged.append(text)).run(manifest)

    def assert_ends(self, reason: str, manifest: Manifest, evidence: str, bytes_max: int = 1_000) -> None:
        with self.assertRaises(ReplicaEnded) as caught:
            self.restore(manifest, bytes_max)
        report = caught.exception.report
        self.assertEqual(report.reason, reason)
        self.assertIn(evidence, f'{report.message} {report.evidence}')

    def test_restores_files_that_fill_the_disk_to_the_last_byte(self) -> None:
        files = [self.cloud.put(f'p/step/{number}', b'x' * 100, number, EARLIER) for number in range(1, 5)]
        restored = self.restore(committed(*files), bytes_max=400)
        self.assertEqual(sorted(restored), ['step/1', 'step/2', 'step/3', 'step/4'])
        self.assertEqual((self.folder / 'step' / '4').read_bytes(), b'x' * 100)

    def test_deletes_the_parts_that_earlier_attempts_left_behind(self) -> None:
        for number, author in enumerate((EARLIER, AUTHOR, Author('digits', 5), Author('other', 1)), start=1):
            self.cloud.put(f'p/{PARTS_PREFIX}{number}/000000.dropforge-part', b'x', number, author)
        self.assertEqual(self.restore(Manifest(None)), {})
        left = sorted(int(name.split('/')[2]) for name in self.cloud.objects if PARTS_PREFIX in name)
        self.assertEqual(left, [2, 3, 4])

    def test_counts_the_space_of_files_that_it_replaces_as_free(self) -> None:
        (self.folder / 'model').write_bytes(b'y' * 80)
        self.restore(committed(self.cloud.put('p/model', b'x' * 100, 1, EARLIER)), bytes_max=20)
        self.assertEqual((self.folder / 'model').read_bytes(), b'x' * 100)

    def test_ends_the_attempt_if_the_files_do_not_fit_on_the_disk(self) -> None:
        manifest = committed(self.cloud.put('p/model', b'x' * 100, 1, EARLIER))
        self.assert_ends('DISK_TOO_SMALL', manifest, '100 bytes', bytes_max=99)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_reports_a_full_disk_as_such_and_not_as_an_unreadable_checkpoint(self) -> None:
        full, damaged = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OSError(errno.EIO, os.strerror(errno.EIO))
        self.assertEqual(describe_restore_error('model', full).reason, 'DISK_TOO_SMALL')
        self.assertEqual(describe_restore_error('model', damaged).reason, 'CHECKPOINT_UNREADABLE')

    def test_ends_the_attempt_if_a_file_is_rejected_differs_or_is_gone(self) -> None:
        kept = self.cloud.put('p/kept', b'kept', 1, EARLIER)
        lost = self.cloud.put('p/lost', b'lost', 2, EARLIER)
        self.cloud.reject = lambda received: 403 if received.name == 'p/lost' else None
        self.assert_ends('CHECKPOINT_UNREADABLE', committed(kept, lost), 'lost')
        self.cloud.reject = lambda _: None
        self.cloud.corrupt = lambda body: body.upper()
        self.assert_ends('CHECKPOINT_UNREADABLE', committed(kept, lost), 'The MD5 of the download')
        self.cloud.corrupt = lambda body: body
        del self.cloud.objects['p/lost']
        self.assert_ends('CHECKPOINT_UNREADABLE', committed(kept, lost), 'No such object')

    def test_raises_a_transient_error_that_persists(self) -> None:
        manifest = committed(self.cloud.put('p/model', b'model', 1, EARLIER))
        self.cloud.reject = lambda received: 503 if received.name == 'p/model' else None
        with self.assertRaises(TransientError):
            self.restore(manifest)

    def test_restores_the_live_generation_with_a_warning_if_the_committed_one_is_gone(self) -> None:
        manifest = committed(self.cloud.put('p/model', b'committed', 1, EARLIER))
        self.cloud.put('p/model', b'later', 11, EARLIER)
        self.assertEqual(self.restore(manifest)['model'].generation, '11')
        self.assertEqual((self.folder / 'model').read_bytes(), b'later')
        self.assertIn('The version of model that was saved with the other files no longer exists', self.logged[0])

    def test_follows_a_file_that_is_replaced_during_its_download(self) -> None:
        manifest = committed(self.cloud.put('p/model', b'committed', 1, EARLIER))

        def replace_once(_received: object) -> None:
            self.cloud.reject = lambda _: None
            self.cloud.put('p/model', b'even later', 12, AUTHOR)

        self.cloud.put('p/model', b'later', 11, EARLIER)
        self.cloud.reject = lambda received: replace_once(received) if received.name == 'p/model' else None
        self.assertEqual(self.restore(manifest)['model'].generation, '12')

    def test_continues_with_a_new_token_after_the_old_one_expired(self) -> None:
        manifest = committed(self.cloud.put('p/model', b'model' * 100, 1, EARLIER))
        self.cloud.bytes_per_connection = 200
        self.cloud.reject = lambda received: 401 if received.start > 0 and received.token == 'Bearer token-1' else None
        self.restore(manifest)
        self.assertEqual((self.folder / 'model').read_bytes(), b'model' * 100)
        self.assertEqual(self.cloud.tokens_fetched, 2)

    def test_downloads_as_many_files_in_parallel_as_allowed(self) -> None:
        together = threading.Barrier(REQUESTS_MAX, timeout=30)
        downloading: List[Received] = []
        counts: List[int] = []

        def wait_for_others(received: Received) -> None:
            downloading.append(received)
            counts.append(len(downloading))
            together.wait()
            downloading.remove(received)
            together.wait()

        self.cloud.before_sending = wait_for_others
        files = [self.cloud.put(f'p/{number}', b'x', number, EARLIER) for number in range(1, 3 * REQUESTS_MAX + 1)]
        self.assertEqual(len(self.restore(committed(*files))), len(files))
        self.assertEqual(max(counts), REQUESTS_MAX)

    def test_cancels_all_downloads_when_one_file_cannot_be_restored(self) -> None:
        lost, waiting = self.cloud.put('p/lost', b'lost', 1, EARLIER), self.cloud.put('p/waiting', b'w', 2, EARLIER)
        self.cloud.reject = lambda received: {'p/lost': 403, 'p/waiting': 503}.get(received.name or '')
        with self.assertRaises(ReplicaEnded):
            self.restore(committed(lost, waiting), policy=RetryPolicy(tries_max=1_000, seconds_max=600))

    def test_is_cancelled_when_the_vm_stops(self) -> None:
        cancelled = threading.Event()

        def stop_during_download(received: Received) -> Optional[int]:
            if received.name is None:
                return None
            cancelled.set()
            return 503

        self.cloud.reject = stop_during_download
        files = [self.cloud.put(f'p/{number}', b'x', number, EARLIER) for number in range(1, 101)]
        with self.assertRaises(TransientError):
            self.restore(committed(*files), policy=RetryPolicy(1_000, 600, cancelled))

    def test_keeps_the_order_in_which_the_program_wrote_the_files(self) -> None:
        stored = [self.cloud.put(f'p/step-{step}', b'x', step, EARLIER) for step in (9, 10, 11)]
        files = committed(*stored).files
        modified = {name: replace(info, modified_ns=100 - int(info.generation)) for name, info in files.items()}
        self.restore(Manifest(EARLIER, modified))
        by_age = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        self.assertEqual([path.name for path in by_age], ['step-11', 'step-10', 'step-9'])

    def test_orders_files_of_earlier_agents_by_their_upload(self) -> None:
        files = [self.cloud.put(f'p/step-{step}', b'x', step, EARLIER) for step in (9, 10, 11)]
        for file in files:
            self.cloud.objects[file.name] = replace(file, created_at=100.0 - file.generation)
        self.restore(committed(*files))
        by_age = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        self.assertEqual([path.name for path in by_age], ['step-11', 'step-10', 'step-9'])


if __name__ == '__main__':
    unittest.main()
