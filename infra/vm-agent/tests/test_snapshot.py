import errno
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Dict, List, Mapping, Optional
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.storage.output.half_written import HalfWritten
from vm_agent.storage.output.new_folders import ROUNDS_MAX, NewFolders
from vm_agent.storage.output.open_files import find_open_files
from vm_agent.storage.output.output_changes import Saved, SavedFile, find_changes
from vm_agent.storage.output.output_files import Scan, Stamp, scan_output, stamp_of
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.quiet_wait import QUIET_SECONDS_MIN, required_quiet
from vm_agent.storage.output.restless_files import RestlessFiles
from vm_agent.storage.output.snapshot import HELD_ROUNDS_MAX, Interval, Snapshot, Snapshots
from vm_agent.storage.output.staging import COPY_BYTES_MAX, Staging, Unstable, UnstableFile, Wanted, tail_of
from vm_agent.storage.transfer.client import ObjectInfo

INTERVAL_SECONDS = 0.2
AGE_SECONDS = 60.0
# Opens a file in a mode, says so, and keeps it open until its input ends.
KEEPS_OPEN = 'import sys; file = open(sys.argv[1], sys.argv[2]); print(1, flush=True); sys.stdin.read()'

# Rewrites a file in place all the time; each version has one number all over.
REWRITTEN_COUNT = 1 << 20
REWRITES = f"""
import sys
step = 1
while True:
    with open(sys.argv[1], 'r+b') as file:
        file.write(b'%08d' % step * {REWRITTEN_COUNT})
    if step == 1: print(1, flush=True)
    step += 1
"""


def info(generation: int) -> ObjectInfo:
    return ObjectInfo('bucket', 'p/name', str(generation), 1, 'AAAAAA==', None, None)


class SnapshotTestCase(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.output = Path(holder.name, 'output')
        self.output.mkdir()
        self.tree = OutputTree(self.output)
        self.free_bytes = 1 << 30
        self.staging = Staging(Path(holder.name, 'staging'), self.tree, lambda: self.free_bytes)
        self.staging.clear()
        self.unsaved: List[str] = []
        self.saved = Saved()
        self.snapshots = Snapshots(self.tree, 'p/', self.staging, self.fail)
        self.snapshots.on_unsaved = self.unsaved.append

    def write(self, name: str, body: bytes, age_seconds: float = AGE_SECONDS) -> Path:
        """Writes a file, and says that this was some time ago."""
        path = self.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        at_ns = time.time_ns() - int(age_seconds * 1e9)
        for changed in (path, *path.relative_to(self.output).parents):
            os.utime(self.output / changed, ns=(at_ns, at_ns))
        return path

    def keep_open(self, path: Path, mode: str) -> None:
        """Lets another process keep the file open until the test ends."""
        process = subprocess.Popen(
            [sys.executable, '-c', KEEPS_OPEN, str(path), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdin is not None
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        process.stdout.readline()

    def wanted(self, path: Path, must_copy: bool = False) -> Wanted:
        return Wanted(str(path.relative_to(self.output)), stamp_of(path), must_copy=must_copy)

    def take(self) -> Optional[Snapshot]:
        """Returns None, too, if everything is saved."""
        snapshot = self.snapshots.take(self.saved, Interval(INTERVAL_SECONDS), threading.Event())
        return None if snapshot is None or snapshot.is_saved else snapshot

    def save(self, snapshot: Optional[Snapshot]) -> Mapping[str, bytes]:
        """Acts as if the snapshot had been uploaded and committed; returns its new files."""
        assert snapshot is not None
        for name, file in snapshot.staged.items():
            self.saved.files[name] = SavedFile(file.stamp, info(1), file.tail)
        self.saved.committed = {name: info(1) for name in snapshot.files}
        return {name: file.path.read_bytes()[: file.stamp.size_bytes] for name, file in snapshot.staged.items()}


class SnapshotTest(SnapshotTestCase):
    def test_copies_what_changed_and_nothing_if_nothing_did(self) -> None:
        self.write('model', b'1')
        self.assertEqual(self.save(self.take()), {'model': b'1'})
        self.assertIsNone(self.take())
        self.write('model', b'22')
        self.assertEqual(self.save(self.take()), {'model': b'22'})

    def test_drops_a_file_that_the_program_deleted(self) -> None:
        path = self.write('old', b'1')
        self.write('new', b'1')
        self.save(self.take())
        path.unlink()
        snapshot = self.take()
        assert snapshot is not None
        self.assertEqual(list(snapshot.files), ['new'])

    def test_leaves_out_a_new_folder_that_is_being_written(self) -> None:
        self.write('other', b'1', age_seconds=2 * AGE_SECONDS)
        self.write('checkpoint-1/model', b'1')
        self.keep_open(self.write('checkpoint-1/state', b'1', age_seconds=0), 'r+b')
        self.assertEqual(self.save(self.take()), {'other': b'1'})

    def test_waits_for_a_new_folder_that_a_file_may_already_point_to(self) -> None:
        self.write('checkpoint-1/model', b'1')
        self.keep_open(self.write('checkpoint-1/state', b'1', age_seconds=0), 'r+b')
        self.write('latest', b'checkpoint-1')
        self.assertIsNone(self.take())

    def test_keeps_the_old_folder_until_the_one_that_replaces_it_is_whole(self) -> None:
        self.write('checkpoint-1/model', b'1')
        self.save(self.take())
        (self.output / 'checkpoint-1' / 'model').unlink()
        self.keep_open(self.write('checkpoint-2/model', b'2', age_seconds=0), 'wb')
        self.assertIsNone(self.take())

    def test_keeps_all_files_at_their_last_version_while_one_of_them_is_rewritten(self) -> None:
        model = self.write('model', b'1')
        self.write('optimizer', b'1')
        self.save(self.take())
        self.write('optimizer', b'22')
        self.write('model', b'half', age_seconds=0)
        self.keep_open(model, 'r+b')
        self.assertIsNone(self.take())

    def test_saves_a_log_that_is_open_all_the_time(self) -> None:
        log = self.write('history', b'line 1\n', age_seconds=0)
        self.keep_open(log, 'ab')
        self.assertEqual(self.save(self.take()), {'history': b'line 1\n'})
        with open(log, 'ab') as file:
            file.write(b'line 2\n')
        self.assertEqual(self.save(self.take()), {'history': b'line 1\nline 2\n'})

    def test_saves_a_file_that_is_open_but_has_been_quiet_for_an_interval(self) -> None:
        self.keep_open(self.write('database', b'1'), 'r+b')
        self.assertEqual(self.save(self.take()), {'database': b'1'})

    def test_saves_the_other_files_after_some_rounds_and_reports_the_one_that_is_always_written(self) -> None:
        self.write('database', b'1')
        self.save(self.take())
        # Always just written, however busy the machine is: its time is in the future.
        self.keep_open(self.write('database', b'2', age_seconds=-AGE_SECONDS), 'r+b')
        self.write('model', b'1')
        snapshots = [snapshot for snapshot in (self.take() for _ in range(6)) if snapshot is not None]
        self.assertEqual([*snapshots[0].staged], ['model'])
        self.assertEqual(snapshots[0].held, {'database'})
        self.assertEqual(self.unsaved, ['database'])

    def test_keeps_the_last_version_of_a_file_for_whose_copy_the_disk_has_no_space(self) -> None:
        self.write('model', b'1')
        self.save(self.take())
        self.keep_open(self.write('model', b'2', age_seconds=-AGE_SECONDS), 'r+b')
        warnings: List[str] = []
        self.snapshots = Snapshots(self.tree, 'p/', self.staging, warnings.append)
        full = OSError(errno.ENOSPC, 'No space left on device')
        with mock.patch.object(self.staging, 'stage_held', side_effect=full):
            snapshots = [snapshot for snapshot in (self.take() for _ in range(6)) if snapshot is not None]
        self.assertEqual([snapshot.held for snapshot in snapshots], [{'model'}] * len(snapshots))
        self.assertIn('No space left', warnings[0])

    def test_saves_a_large_file_that_is_rewritten_in_place_without_a_pause(self) -> None:
        path = self.write('model', b'')
        program = subprocess.Popen([sys.executable, '-c', REWRITES, str(path)], stdout=subprocess.PIPE)
        assert program.stdout is not None
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        program.stdout.readline()
        found: List[bytes] = []
        # On a busy machine, a moment between two writers is found in few of the rounds.
        for _ in range(100 * HELD_ROUNDS_MAX):
            snapshot = self.take()
            if snapshot is not None and 'model' in snapshot.staged:
                found.append(self.save(snapshot)['model'])
            if len(found) == 2:
                break
        steps = [int(body[:8]) for body in found]
        self.assertEqual([body for body, step in zip(found, steps) if body != b'%08d' % step * REWRITTEN_COUNT], [])
        self.assertLess(steps[0], steps[1])


class StagingTest(SnapshotTestCase):
    def test_holds_a_writer_too_long_for_a_file_only_once(self) -> None:
        self.write('model', b'x' * 3_000_000)
        self.write('small', b'x')
        staging = Staging(self.output.parent / 'held', self.tree, lambda: 1 << 30, held_seconds_max=0.0)
        staging.clear()
        with self.assertRaises(UnstableFile):
            staging.stage_held('model', 0.1)
        os.remove(self.output / 'model')
        with self.assertRaises(UnstableFile):
            staging.stage_held('model', 0.1)

    def test_copies_no_file_that_a_process_is_writing(self) -> None:
        path = self.write('model', b'half')
        self.keep_open(path, 'r+b')
        with self.assertRaises(UnstableFile) as caught:
            self.staging.stage(self.wanted(path))
        self.assertEqual(caught.exception.reason, Unstable.OPEN)

    def test_keeps_the_bytes_of_a_large_file_that_is_replaced_or_deleted_without_a_copy(self) -> None:
        body = os.urandom(COPY_BYTES_MAX + 1)
        path = self.write('model', body)
        staged = self.staging.stage(self.wanted(path))
        self.assertEqual(staged.path.stat().st_ino, path.stat().st_ino)
        os.replace(self.write('model.tmp', b'next'), path)
        self.assertTrue(staged.is_intact())
        self.assertEqual(staged.path.read_bytes(), body)

    def test_detects_that_a_linked_file_was_rewritten(self) -> None:
        path = self.write('model', bytes(COPY_BYTES_MAX + 1))
        staged = self.staging.stage(self.wanted(path))
        with open(path, 'r+b') as file:
            file.write(b'x')
        self.assertFalse(staged.is_intact())

    def test_copies_a_large_file_that_the_program_rewrites_unless_space_is_short(self) -> None:
        path = self.write('model', bytes(COPY_BYTES_MAX + 1))
        self.assertFalse(self.staging.stage(self.wanted(path, must_copy=True)).is_link)
        self.staging.discard('model')
        self.free_bytes = COPY_BYTES_MAX
        self.assertTrue(self.staging.stage(self.wanted(path, must_copy=True)).is_link)

    def test_returns_no_earlier_copy_of_a_version_that_is_gone(self) -> None:
        path = self.write('model', b'1')
        wanted = self.wanted(path)
        self.staging.stage(wanted)
        self.write('model', b'22')
        with self.assertRaises(UnstableFile):
            self.staging.stage(wanted)

    def test_removes_what_an_earlier_boot_left_and_what_is_no_longer_needed(self) -> None:
        first, second = (self.staging.stage(self.wanted(self.write(name, b'1'))) for name in ('first', 'second'))
        self.staging.keep(['second'])
        self.assertEqual((first.path.exists(), second.path.exists()), (False, True))
        self.staging.clear()
        self.assertFalse(second.path.exists())


class ChangesTest(SnapshotTestCase):
    def test_tells_appending_from_rewriting(self) -> None:
        for name, later in (('log', b'line 1\nline 2\n'), ('file', b'another line\n')):
            path = self.write(name, b'line 1\n')
            self.saved.files[name] = SavedFile(stamp_of(path), info(1), tail_of(path, 7))
            self.write(name, later)
        changes = find_changes(scan_output(self.output, 'p/'), self.saved, self.tree, NewFolders())
        self.assertEqual((changes.changed, changes.grown), ({'log', 'file'}, {'log'}))

    def test_finds_the_outermost_folders_that_have_files_of_which_none_is_committed(self) -> None:
        for name in ('known/old', 'known/new/a/b', 'fresh/1/a/b', 'fresh/1/c', 'top'):
            self.write(name, b'1')
        self.saved.committed = {'known/old': info(1)}
        changes = find_changes(scan_output(self.output, 'p/'), self.saved, self.tree, NewFolders())
        self.assertEqual(sorted(changes.new_folders), ['fresh/1', 'known/new/a'])
        self.assertEqual(changes.outside, {'known/old', 'top'})

    def test_finds_files_that_are_open_for_writing_and_those_that_are_only_appended_to(self) -> None:
        for name, mode in (('appended', 'ab'), ('written', 'r+b'), ('read', 'rb')):
            self.keep_open(self.write(name, b'1'), mode)
        self.assertEqual(find_open_files(self.output), {'appended': True, 'written': False})


class QuietWaitTest(unittest.TestCase):
    def test_requires_a_long_pause_first_then_half_of_the_longest_and_a_tick_in_the_end(self) -> None:
        self.assertEqual(required_quiet(30, 0, 0.4), 7.5)
        self.assertEqual(required_quiet(30, 12, 0.4), 0.2)
        self.assertEqual(required_quiet(30, 18, 0.4), QUIET_SECONDS_MIN)
        self.assertEqual(required_quiet(30, 12, 0.0), QUIET_SECONDS_MIN)


class RestlessTest(unittest.TestCase):
    def look(self, sizes: List[int]) -> bool:
        """Looks at a file whose every version has one of these sizes in turn."""
        restless = RestlessFiles()
        restless.start_round()
        for number in range(12):
            restless.look({'file': Stamp(1, sizes[number % len(sizes)], number)}, {'file'})
        return 'file' in restless.names

    def test_finds_a_small_file_that_is_rewritten_all_the_time(self) -> None:
        self.assertTrue(self.look([100]))
        self.assertTrue(self.look([100, 110, 120]))

    def test_finds_no_large_file_and_no_file_that_only_grows(self) -> None:
        self.assertFalse(self.look([1_000_000]))
        self.assertFalse(self.look(list(range(12))))


class HalfWrittenTest(unittest.TestCase):
    def test_finds_the_files_that_may_be_of_the_same_save_as_one_that_was_half_written(self) -> None:
        second = 10**9
        files = {
            'model': Stamp(1, 1, 100 * second),
            'optimizer': Stamp(2, 1, 101 * second),
            'earlier': Stamp(3, 1, 30 * second),
            'folder/other': Stamp(4, 1, 101 * second),
        }
        half_written = HalfWritten({'optimizer', 'deleted'}, signaled_at_ns=101 * second)
        self.assertEqual(half_written.find_half_saved(files), {'model', 'optimizer'})
        files['optimizer'] = Stamp(2, 1, 103 * second)
        self.assertEqual(half_written.find_half_saved(files), frozenset(), 'the program has survived the signal')


class NewFoldersTest(unittest.TestCase):
    def look(self, folders: NewFolders, files: Dict[str, Stamp]) -> List[str]:
        """Returns the folders that are saved as a whole."""
        split = folders.split(Scan(files, {}), files, {''})
        folders.look(split)
        return sorted(split)

    def test_takes_a_folder_for_one_save_while_its_files_are_written_once(self) -> None:
        folders = NewFolders()
        self.assertEqual(self.look(folders, {'c/model': Stamp(1, 10, 1)}), ['c'])
        self.assertEqual(self.look(folders, {'c/model': Stamp(1, 20, 2), 'c/state.tmp': Stamp(2, 5, 3)}), ['c'])
        self.assertEqual(self.look(folders, {'c/model': Stamp(1, 20, 2), 'c/state': Stamp(2, 5, 3)}), ['c'])

    def test_takes_a_folder_in_which_files_are_deleted_or_rewritten_for_a_place_of_several(self) -> None:
        for later in ({'c/2': Stamp(2, 10, 2)}, {'c/1': Stamp(2, 10, 2)}, {'c/1': Stamp(1, 0, 2)}):
            folders = NewFolders()
            self.look(folders, {'c/1': Stamp(1, 10, 1)})
            self.look(folders, later)
            self.assertEqual(self.look(folders, later), [], later)

    def test_takes_a_folder_that_is_written_for_several_rounds_for_a_place_of_several(self) -> None:
        folders = NewFolders()
        for number in range(ROUNDS_MAX):
            self.assertEqual(self.look(folders, {f'c/{step}': Stamp(step, 1, 1) for step in range(number + 1)}), ['c'])
            folders.end_round({'c'})
        self.assertEqual(self.look(folders, {'c/0': Stamp(0, 1, 1)}), [])


if __name__ == '__main__':
    unittest.main()
