import os
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Iterator, List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from fake_storage import BUCKET, FakeStorage, Received
from single_replica import open_sync
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.directory.job_directory import Fenced, JobDirectory
from vm_agent.storage.directory.object_names import PARTS_PREFIX, is_restorable
from vm_agent.storage.output.output_files import stamp_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging, Wanted
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer import download, upload
from vm_agent.storage.transfer.body import FileChanged, FileRange
from vm_agent.storage.transfer.client import Author, ObjectInfo, StorageRejected, parse_object_info
from vm_agent.storage.transfer.download import ContentMismatch, download_file

EARLIER = Author('digits', 3)
AUTHOR = Author('digits', 4)
LATER = Author('digits', 5)
POLICY = RetryPolicy(tries_max=3, seconds_max=30)
MIB = 1_048_576
# Small limits, so that the tests take milliseconds.
LARGE_BYTES_MIN = 4 * MIB
PART_BYTES_MIN = MIB
RANGE_BYTES = 2 * MIB


class CloudTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = FakeStorage()
        self.addCleanup(self.cloud.close)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.storage = self.cloud.connect()
        self.directory = JobDirectory(self.storage, f'gs://{BUCKET}/p', AUTHOR)

    def write(self, name: str, size_bytes: int) -> Path:
        """Writes a file whose bytes differ from MiB to MiB; most of them are a hole."""
        path = self.folder / name
        with open(path, 'wb') as file:
            file.truncate(size_bytes)
            for start in range(0, size_bytes, MIB):
                file.seek(start)
                file.write(str(start).encode()[: size_bytes - start])
        return path

    def limit(self, module: ModuleType, **values: int) -> None:
        for name, value in values.items():
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)

    def paths(self, method: str) -> List[str]:
        return [received.path for received in self.cloud.received if received.method == method]


class ManifestTest(CloudTest):
    def test_that_arrives_in_part_is_read_again_and_not_taken_for_damaged(self) -> None:
        self.directory.claim(POLICY)
        self.cloud.bytes_per_connection = 30
        with self.assertRaisesRegex(TransientError, 'ended after 30 of'):
            self.directory.read_manifest(POLICY)


class UploadTest(CloudTest):
    def test_of_a_small_file_is_one_request_and_all_share_a_connection(self) -> None:
        for number in range(20):
            self.directory.upload(f'file-{number}', self.write('small', 4_096), POLICY)
        self.assertEqual(len(self.cloud.received), 20)
        self.assertEqual(len(self.cloud.connections), 1)

    def test_of_a_file_below_the_limit_is_one_request(self) -> None:
        path = self.write('model', 3 * MIB)
        info = self.directory.upload('model', path, POLICY)
        self.assertEqual(len(self.cloud.received), 1)
        self.assertEqual(self.cloud.objects['p/model'].body, path.read_bytes())
        self.assertEqual(info.size_bytes, 3 * MIB)
        self.assertEqual(info.modified_ns, path.stat().st_mtime_ns)

    def test_continues_on_a_new_connection_after_the_server_closed_an_idle_one(self) -> None:
        path = self.write('model', 10)
        self.directory.upload('first', path, POLICY)
        self.cloud.disconnect_idle()
        self.directory.upload('second', path, RetryPolicy(tries_max=1, seconds_max=30))
        self.assertEqual(sorted(self.cloud.objects), ['p/first', 'p/second'])

    def test_creates_one_generation_although_its_answer_is_lost(self) -> None:
        for name, size_bytes in (('small', 10), ('large', 3 * MIB)):
            posts_before = len(self.paths('POST'))
            self.cloud.lose_answer = lambda _, count=posts_before + 1: len(self.paths('POST')) == count
            info = self.directory.upload(name, self.write(name, size_bytes), POLICY)
            self.assertEqual(info.generation, str(self.cloud.objects[f'p/{name}'].generation))
            self.assertEqual(len(self.paths('POST')) - posts_before, 2)
        self.assertEqual([one.generation for one in self.cloud.objects.values()], [1, 2])

    def test_of_a_file_that_another_attempt_has_written_replaces_it(self) -> None:
        path = self.write('model', 10)
        self.cloud.put('p/model', path.read_bytes(), 1, Author('digits', AUTHOR.attempt - 1))
        self.assertEqual(self.directory.upload('model', path, POLICY).author, AUTHOR)

    def test_is_rejected_if_bytes_change_in_transit(self) -> None:
        self.cloud.corrupt = lambda body: body[:-1] + b'?'
        with self.assertRaises(StorageRejected):
            self.directory.upload('model', self.write('model', 2 * MIB), POLICY)
        self.assertEqual(self.cloud.objects, {})

    def test_raises_file_changed_if_the_file_changes_while_it_is_sent(self) -> None:
        path = self.write('model', 2 * MIB)

        def change(body: bytes) -> bytes:
            path.write_bytes(b'another version')
            return body[:-1] + b'?'

        self.cloud.corrupt = change
        with self.assertRaises(FileChanged):
            self.directory.upload('model', path, POLICY)

    def test_raises_file_changed_if_the_file_becomes_shorter(self) -> None:
        path = self.write('model', MIB)
        with open(path, 'rb') as file:
            body = FileRange(file.fileno(), 0, 2 * MIB)
            with self.assertRaises(FileChanged):
                list(body)


class PartsTest(CloudTest):
    def setUp(self) -> None:
        super().setUp()
        self.limit(upload, PARALLEL_BYTES_MIN=LARGE_BYTES_MIN, PART_BYTES_MIN=PART_BYTES_MIN)
        self.path = self.write('model', LARGE_BYTES_MIN + 12_345)

    def upload(self) -> ObjectInfo:
        return self.directory.upload('model', self.path, POLICY)

    def assert_uploaded(self) -> None:
        """The object has the file's bytes and its author, and no part is left."""
        self.assertEqual(list(self.cloud.objects), ['p/model'])
        self.assertTrue(self.cloud.objects['p/model'].body == self.path.read_bytes())
        self.assertEqual(self.cloud.objects['p/model'].author, AUTHOR)

    def part_uploads(self) -> List[str]:
        return [path for path in self.paths('POST') if PARTS_PREFIX in path]

    def test_of_a_large_file_are_composed_and_deleted(self) -> None:
        info = self.upload()
        self.assert_uploaded()
        self.assertEqual(info.generation, str(self.cloud.objects['p/model'].generation))
        self.assertEqual(len(self.part_uploads()), 5)
        for path in self.part_uploads():
            self.assertFalse(is_restorable(path[path.index(PARTS_PREFIX) :]))

    def test_are_not_sent_again_if_the_answer_to_the_composition_is_lost(self) -> None:
        lost: List[str] = []

        def lose(received: Received) -> bool:
            is_first = received.path.endswith('/compose') and not lost
            lost.extend([received.path] if is_first else [])
            return is_first

        self.cloud.lose_answer = lose
        info = self.upload()
        self.assertEqual(len(lost), 1)
        self.assert_uploaded()
        self.assertEqual(info.generation, str(self.cloud.objects['p/model'].generation))
        self.assertEqual(len(self.part_uploads()), 5)

    def test_are_composed_although_the_answers_to_their_uploads_are_lost(self) -> None:
        lost: List[str] = []

        def lose(received: Received) -> bool:
            is_first = PARTS_PREFIX in received.path and received.path not in lost
            lost.append(received.path)
            return is_first

        self.cloud.lose_answer = lose
        self.upload()
        self.assert_uploaded()

    def test_are_not_sent_again_if_another_writer_replaces_the_object_meanwhile(self) -> None:
        def replace_once(received: Received) -> None:
            if received.path.endswith('/compose') and 'p/model' not in self.cloud.objects:
                self.cloud.put('p/model', b'of another writer', 1)

        self.cloud.reject = replace_once
        self.upload()
        self.assert_uploaded()
        self.assertEqual(len(self.part_uploads()), 5)

    def test_of_an_old_attempt_never_replace_the_object_of_a_newer_one(self) -> None:
        def claim(received: Received) -> None:
            if received.path.endswith('/compose'):
                self.cloud.put('p/model', b'of attempt 5', 1, LATER)

        self.cloud.reject = claim
        with self.assertRaises(Fenced):
            self.upload()
        self.assertEqual([one.body for one in self.cloud.objects.values()], [b'of attempt 5'])

    def test_are_not_sent_at_all_by_an_attempt_that_is_already_fenced(self) -> None:
        self.cloud.put('p/model', b'of attempt 5', 1, LATER)
        with self.assertRaises(Fenced):
            self.upload()
        self.assertEqual(self.part_uploads(), [])

    def test_are_deleted_if_one_cannot_be_sent(self) -> None:
        self.cloud.reject = lambda received: 403 if received.path.endswith('/000003.dropforge-part') else None
        with self.assertRaises(StorageRejected):
            self.upload()
        self.assertEqual(self.cloud.objects, {})

    def test_are_not_composed_if_the_file_has_changed_meanwhile(self) -> None:
        def touch(received: Received) -> None:
            if received.path.endswith('/000004.dropforge-part') and received.method == 'POST':
                os.utime(self.path)

        self.cloud.reject = touch
        with self.assertRaises(FileChanged):
            self.upload()
        self.assertEqual(self.cloud.objects, {})

    def test_are_sent_although_the_service_is_overloaded_at_first(self) -> None:
        rejected: List[str] = []

        def is_first(received: Received) -> bool:
            rejected.append(received.path)
            return rejected.count(received.path) == 1

        self.cloud.reject = lambda received: 503 if is_first(received) else None
        self.upload()
        self.assert_uploaded()

    def test_that_are_more_than_one_composition_takes_are_composed_in_groups(self) -> None:
        self.limit(upload, PART_BYTES_MIN=1, PART_BYTES_MAX=100_000)
        self.upload()
        self.assert_uploaded()
        self.assertGreater(len(self.part_uploads()), upload.COMPOSE_COUNT_MAX)


class SaveTest(CloudTest):
    def setUp(self) -> None:
        super().setUp()
        self.output = self.folder / 'output'
        self.output.mkdir()
        self.staging = Staging(self.folder / 'staging', OutputTree(self.output), lambda: MIB)

    def test_and_restore_keep_the_order_in_which_the_program_wrote_the_files(self) -> None:
        names = [f'step-{step}' for step in range(60)]
        for position, name in enumerate(names):
            # Names, modification times and sizes have different orders.
            (self.output / name).write_bytes(b'x' * (position * 7 % 60))
            os.utime(self.output / name, (position * 17 % 60, position * 17 % 60))
        expected = sorted(names, key=lambda name: (self.output / name).stat().st_mtime_ns)
        sync = open_sync(self.directory, OutputTree(self.output), self.staging, lambda text, _: self.fail(text))
        self.assertEqual(sync.finish(POLICY, was_killed=False), ())

        restored = self.folder / 'restored'
        restored.mkdir()
        directory = JobDirectory(self.storage, f'gs://{BUCKET}/p', LATER)
        Restore(directory, OutputTree(restored), MIB, POLICY, lambda text, severity: None).run(directory.claim(POLICY))
        by_age = sorted(names, key=lambda name: (restored / name).stat().st_mtime_ns)
        self.assertEqual(by_age, expected)

    def test_starts_no_upload_when_its_time_is_over(self) -> None:
        for number in range(40):
            (self.output / f'file-{number}').write_bytes(b'x')
        sync = open_sync(self.directory, OutputTree(self.output), self.staging, lambda text, _: None)
        problems = sync.finish(RetryPolicy(tries_max=3, seconds_max=0), was_killed=False)
        self.assertEqual(len(problems), 40)
        self.assertIn('the time to upload it is over', problems[0])
        self.assertEqual([name for name in self.cloud.objects if 'file-' in name], [])

    def test_of_a_copy_has_the_modification_time_of_the_file(self) -> None:
        path = self.output / 'checkpoint'
        path.write_bytes(b'weights')
        os.utime(path, (1, 1))
        self.staging.clear()
        staged = self.staging.stage(Wanted('checkpoint', stamp_of(path)))
        self.assertFalse(staged.is_link)
        self.assertEqual(staged.path.stat().st_mtime_ns, path.stat().st_mtime_ns)


class DownloadTest(CloudTest):
    def setUp(self) -> None:
        super().setUp()
        self.limit(download, PARALLEL_BYTES_MIN=LARGE_BYTES_MIN, RANGE_BYTES=RANGE_BYTES)
        body = self.write('model', LARGE_BYTES_MIN + 5).read_bytes()
        self.info = parse_object_info(self.cloud.put('p/model', body, 1, EARLIER).resource)
        self.target = self.folder / 'target'

    def download(self) -> None:
        download_file(self.storage, self.info, self.target, POLICY)

    def starts(self) -> Iterator[int]:
        return (received.start for received in self.cloud.received)

    def test_of_a_large_object_is_made_in_ranges(self) -> None:
        self.download()
        self.assertTrue(self.target.read_bytes() == self.cloud.objects['p/model'].body)
        self.assertEqual(sorted(self.starts()), [0, RANGE_BYTES, 2 * RANGE_BYTES])

    def test_resumes_each_range_after_broken_connections(self) -> None:
        self.cloud.bytes_per_connection = 600_000
        self.download()
        self.assertTrue(self.target.read_bytes() == self.cloud.objects['p/model'].body)
        self.assertEqual(len(set(self.starts())), 9)

    def test_finds_a_byte_that_changed(self) -> None:
        self.cloud.corrupt = lambda body: body[:-9] + b'?' + body[-8:]
        with self.assertRaisesRegex(ContentMismatch, 'CRC32C'):
            self.download()

    def test_of_an_uploaded_object_checks_the_md5_of_its_parts(self) -> None:
        self.limit(upload, PARALLEL_BYTES_MIN=LARGE_BYTES_MIN, PART_BYTES_MIN=PART_BYTES_MIN)
        self.directory.upload('large', self.write('large', LARGE_BYTES_MIN + 5), POLICY)
        # A list returns it in this form; the CRC32C is not needed.
        info = replace(parse_object_info(self.cloud.objects['p/large'].resource), crc32c='')
        self.cloud.received.clear()
        download_file(self.storage, info, self.target, POLICY)
        self.assertTrue(self.target.read_bytes() == self.cloud.objects['p/large'].body)
        self.assertEqual(sorted(self.starts()), [part * PART_BYTES_MIN for part in range(5)])
        self.cloud.corrupt = lambda body: body[:-9] + b'?' + body[-8:]
        with self.assertRaisesRegex(ContentMismatch, 'MD5'):
            download_file(self.storage, info, self.target, POLICY)

    def test_is_right_although_a_proxy_ignores_ranges(self) -> None:
        self.cloud.ignores_ranges = True
        self.download()
        self.assertTrue(self.target.read_bytes() == self.cloud.objects['p/model'].body)


if __name__ == '__main__':
    unittest.main()
