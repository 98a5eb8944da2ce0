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

from storage_under_test import BUCKET, Asked, StorageUnderTest, Stored
from vm_agent.exit_report import ReplicaEnded
from vm_agent.job_directory import JobDirectory
from vm_agent.manifest import Manifest
from vm_agent.restore import CONNECTIONS_MAX, Restore, choose_objects, describe_loss
from vm_agent.retry import PassingFault, Patience
from vm_agent.storage import Author, ObjectInfo, read_object_info

EARLIER = Author('digits', 3)
AUTHOR = Author('digits', 4)
SEALED_AT = 10
PATIENCE = Patience(tries_max=3, seconds_max=30)


def info(name: str, generation: int, author: Optional[Author] = EARLIER) -> ObjectInfo:
    return ObjectInfo(BUCKET, f'p/{name}', str(generation), 1, 'AAAAAA==', None, author)


def sealed(*objects: Stored) -> Manifest:
    """The manifest that an earlier attempt wrote last; it has less to check a download by than an object has."""
    files = {one.name[len('p/') :]: replace(read_object_info(one.resource), md5=None, author=None) for one in objects}
    return Manifest(EARLIER, files, str(SEALED_AT))


class ChoiceTest(unittest.TestCase):
    def test_takes_the_sealed_set_and_what_came_after_it(self) -> None:
        live = {
            'kept': info('kept', 5),
            'rewritten': info('rewritten', 12),
            'new': info('new', 11),
            'old': info('old', 2),
        }
        manifest = Manifest(
            EARLIER, {'kept': info('kept', 5), 'rewritten': info('rewritten', 6), 'gone': info('gone', 4)}, '10'
        )
        chosen = choose_objects(live, manifest, 'digits')
        generations = {name: found.generation for name, found in chosen.items()}
        self.assertEqual(generations, {'kept': '5', 'rewritten': '6', 'gone': '4', 'new': '11'})
        self.assertEqual(choose_objects(live, Manifest(None, {}, '0'), 'digits'), live)

    def test_takes_nothing_that_no_agent_of_this_job_has_written_unless_it_is_sealed(self) -> None:
        live = {
            'by-the-program': info('by-the-program', 11, None),
            'by-another-job': info('by-another-job', 12, Author('older', 9)),
            'by-this-job': info('by-this-job', 13),
            'sealed': info('sealed', 5, None),
        }
        manifest = Manifest(Author('older', 9), {'sealed': info('sealed', 5, None)}, '10')
        self.assertEqual(sorted(choose_objects(live, manifest, 'digits')), ['by-this-job', 'sealed'])
        self.assertEqual(sorted(choose_objects(live, Manifest(None, {}, '0'), 'digits')), ['by-this-job'])

    def test_takes_the_newer_where_a_file_has_become_a_folder(self) -> None:
        manifest = Manifest(EARLIER, {'model': info('model', 5), 'a/b/c': info('a/b/c', 6)}, '10')
        live = {'model/weights': info('model/weights', 11), 'a': info('a', 12), 'model2': info('model2', 13)}
        self.assertEqual(sorted(choose_objects(live, manifest, 'digits')), ['a', 'model/weights', 'model2'])


class RestoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = StorageUnderTest()
        self.addCleanup(self.cloud.close)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name, 'output')
        self.folder.mkdir()

    def restore(
        self, manifest: Manifest, bytes_max: int = 1_000, patience: Patience = PATIENCE
    ) -> Dict[str, ObjectInfo]:
        directory = JobDirectory(self.cloud.connect(), f'gs://{BUCKET}/p', AUTHOR)
        return Restore(directory, self.folder, bytes_max, patience, lambda _text, _severity: None).run(manifest)

    def assert_ends(self, reason: str, manifest: Manifest, evidence: str, bytes_max: int = 1_000) -> None:
        with self.assertRaises(ReplicaEnded) as caught:
            self.restore(manifest, bytes_max)
        report = caught.exception.report
        self.assertEqual(report.reason, reason)
        self.assertIn(evidence, f'{report.message} {report.evidence}')

    def test_brings_back_all_that_fits_to_the_last_byte(self) -> None:
        files = [self.cloud.put(f'p/step/{number}', b'x' * 100, number, EARLIER) for number in range(1, 5)]
        restored = self.restore(sealed(*files), bytes_max=400)
        self.assertEqual(sorted(restored), ['step/1', 'step/2', 'step/3', 'step/4'])
        self.assertEqual((self.folder / 'step' / '4').read_bytes(), b'x' * 100)

    def test_counts_no_room_twice_for_what_it_replaces_on_the_disk(self) -> None:
        (self.folder / 'model').write_bytes(b'y' * 80)
        self.restore(sealed(self.cloud.put('p/model', b'x' * 100, 1, EARLIER)), bytes_max=20)
        self.assertEqual((self.folder / 'model').read_bytes(), b'x' * 100)

    def test_that_does_not_fit_ends_the_attempt_with_both_sizes(self) -> None:
        manifest = sealed(self.cloud.put('p/model', b'x' * 100, 1, EARLIER))
        self.assert_ends('DISK_TOO_SMALL', manifest, '100 bytes', bytes_max=99)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_that_fills_the_disk_all_the_same_is_told_from_other_faults(self) -> None:
        full, torn = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OSError(errno.EIO, os.strerror(errno.EIO))
        self.assertEqual(describe_loss('model', full).reason, 'DISK_TOO_SMALL')
        self.assertEqual(describe_loss('model', torn).reason, 'CHECKPOINT_UNREADABLE')

    def test_ends_the_attempt_where_a_file_is_refused_differs_or_has_gone(self) -> None:
        kept = self.cloud.put('p/kept', b'kept', 1, EARLIER)
        lost = self.cloud.put('p/lost', b'lost', 2, EARLIER)
        self.cloud.refuse = lambda asked: 403 if asked.name == 'p/lost' else None
        self.assert_ends('CHECKPOINT_UNREADABLE', sealed(kept, lost), 'lost')
        self.cloud.refuse = lambda _: None
        self.cloud.alter = lambda body: body.upper()
        self.assert_ends('CHECKPOINT_UNREADABLE', sealed(kept, lost), 'The MD5 of what arrived')
        self.cloud.alter = lambda body: body
        del self.cloud.objects['p/lost']
        self.assert_ends('CHECKPOINT_UNREADABLE', sealed(kept, lost), 'No such object')

    def test_bears_trouble_and_hands_it_on_when_it_does_not_pass(self) -> None:
        manifest = sealed(self.cloud.put('p/model', b'model', 1, EARLIER))
        self.cloud.refuse = lambda asked: 503 if asked.name == 'p/model' else None
        with self.assertRaises(PassingFault):
            self.restore(manifest)

    def test_takes_the_file_as_it_is_now_where_the_sealed_generation_was_replaced(self) -> None:
        manifest = sealed(self.cloud.put('p/model', b'sealed', 1, EARLIER))
        self.cloud.put('p/model', b'later', 11, EARLIER)
        self.assertEqual(self.restore(manifest)['model'].generation, '11')
        self.assertEqual((self.folder / 'model').read_bytes(), b'later')

    def test_follows_a_file_that_is_replaced_while_it_is_fetched(self) -> None:
        manifest = sealed(self.cloud.put('p/model', b'sealed', 1, EARLIER))

        def replace_once(asked: object) -> None:
            self.cloud.refuse = lambda _: None
            self.cloud.put('p/model', b'even later', 12, AUTHOR)

        self.cloud.put('p/model', b'later', 11, EARLIER)
        self.cloud.refuse = lambda asked: replace_once(asked) if asked.name == 'p/model' else None
        self.assertEqual(self.restore(manifest)['model'].generation, '12')

    def test_asks_again_with_a_new_token_where_the_old_one_has_ended(self) -> None:
        manifest = sealed(self.cloud.put('p/model', b'model' * 100, 1, EARLIER))
        self.cloud.bytes_a_connection = 200
        self.cloud.refuse = lambda asked: 401 if asked.start > 0 and asked.token == 'Bearer token-1' else None
        self.restore(manifest)
        self.assertEqual((self.folder / 'model').read_bytes(), b'model' * 100)
        self.assertEqual(self.cloud.tokens_fetched, 2)

    def test_fetches_several_files_at_a_time_and_no_more(self) -> None:
        together = threading.Barrier(CONNECTIONS_MAX, timeout=30)
        fetching: List[Asked] = []
        counts: List[int] = []

        def meet_others(asked: Asked) -> None:
            fetching.append(asked)
            counts.append(len(fetching))
            together.wait()
            fetching.remove(asked)
            together.wait()

        self.cloud.hold = meet_others
        files = [self.cloud.put(f'p/{number}', b'x', number, EARLIER) for number in range(1, 3 * CONNECTIONS_MAX + 1)]
        self.assertEqual(len(self.restore(sealed(*files))), len(files))
        self.assertEqual(max(counts), CONNECTIONS_MAX)

    def test_is_over_for_all_files_with_the_first_that_cannot_be_had(self) -> None:
        lost, waiting = self.cloud.put('p/lost', b'lost', 1, EARLIER), self.cloud.put('p/waiting', b'w', 2, EARLIER)
        self.cloud.refuse = lambda asked: {'p/lost': 403, 'p/waiting': 503}.get(asked.name or '')
        with self.assertRaises(ReplicaEnded):
            self.restore(sealed(lost, waiting), patience=Patience(tries_max=1_000, seconds_max=600))

    def test_is_cut_short_when_the_vm_stops(self) -> None:
        cancelled = threading.Event()

        def stop_meanwhile(asked: Asked) -> Optional[int]:
            if asked.name is None:
                return None
            cancelled.set()
            return 503

        self.cloud.refuse = stop_meanwhile
        files = [self.cloud.put(f'p/{number}', b'x', number, EARLIER) for number in range(1, 101)]
        with self.assertRaises(PassingFault):
            self.restore(sealed(*files), patience=Patience(1_000, 600, cancelled))

    def test_leaves_the_newest_file_as_the_one_that_was_written_last(self) -> None:
        files = [self.cloud.put(f'p/step-{step}', b'x', 100 - step, EARLIER) for step in (9, 10, 11)]
        self.restore(sealed(*files))
        by_age = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        self.assertEqual([path.name for path in by_age], ['step-11', 'step-10', 'step-9'])


if __name__ == '__main__':
    unittest.main()
