import os
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import List, Optional, Tuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from fake_storage import BUCKET, FakeStorage, StoredObject
from single_replica import open_sync
from vm_agent.control.output_findings import OutputFindings
from vm_agent.health.finding import Finding
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import decode_manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME, WORK_PREFIX
from vm_agent.storage.output.output_files import Stamp
from vm_agent.storage.output.output_rule import OutputRule
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging
from vm_agent.storage.output.work_folder import (
    BYTES_MAX,
    LeftOut,
    WorkFolder,
    find_too_large,
    read_baseline,
)
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer.client import END_KEY, SUCCESS_KEY, Author

POLICY = RetryPolicy(tries_max=2, seconds_max=10)
GIB = 2**30
FILES_MAX = 50


class Vm:
    """The folders of one VM, whose program runs in a package, and what its agent saves of them."""

    def __init__(self, cloud: FakeStorage, home: Path, author: Author, rule: Optional[OutputRule]) -> None:
        self.work, self.output = home / 'work', home / 'output'
        for folder in (self.work, self.output, self.work / 'trainer'):
            folder.mkdir(parents=True)
        (self.work / 'train.py').write_text('print(1)')
        (self.work / 'trainer' / 'config.yaml').write_text('lr: 1')
        (self.work / 'neighbor.yaml').symlink_to('trainer/config.yaml')
        self.left_out: List[LeftOut] = []
        self.tree = OutputTree(self.output)
        self.baseline_file = home / 'baseline.json'
        if rule is not None:
            self.tree.work = self.open(rule)
        self.directory = JobDirectory(cloud.connect(), f'gs://{BUCKET}/p', author)
        self.claimed = self.directory.claim(POLICY)
        staging = Staging(home / 'staging', self.tree, lambda: GIB)
        staging.clear()
        self.sync = open_sync(self.directory, self.tree, staging, lambda text, severity: None)

    def open(self, rule: OutputRule) -> WorkFolder:
        baseline = read_baseline(self.work, self.baseline_file)
        return WorkFolder(self.work, baseline, rule, self.left_out.extend, FILES_MAX)

    def write(self, name: str, text: str = 'x') -> None:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def find(self) -> List[str]:
        assert self.tree.work is not None
        return sorted(self.tree.work.scan()[0])

    def restore(self) -> List[str]:
        restored = Restore(self.directory, self.tree, GIB, POLICY, lambda text, severity: None).run(self.claimed)
        self.sync.files.record_restored(restored, self.claimed)
        self.sync.resume(self.claimed)
        return sorted(restored)


class WorkOutputTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = FakeStorage()
        self.addCleanup(self.cloud.close)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.count = 0

    def boot(self, author: Author = Author('nanogpt', 1), rule: Optional[OutputRule] = OutputRule()) -> Vm:
        self.count += 1
        return Vm(self.cloud, self.folder / str(self.count), author, rule)


class FindTest(WorkOutputTestCase):
    def test_finds_what_the_program_creates_or_changes_and_not_what_the_package_has(self) -> None:
        vm = self.boot()
        self.assertEqual(vm.find(), [])
        vm.write('out-shakespeare/ckpt.pt')
        vm.write('trainer/config.yaml', 'lr: 2')
        (vm.work / 'latest.pt').symlink_to('out-shakespeare/ckpt.pt')
        (vm.work / 'elsewhere').symlink_to('/etc/hostname')
        self.assertEqual(vm.find(), ['latest.pt', 'out-shakespeare/ckpt.pt', 'trainer/config.yaml'])

    def test_finds_after_a_reboot_what_the_program_had_written_before_it(self) -> None:
        vm = self.boot()
        vm.write('model.pt')
        self.assertEqual(sorted(vm.open(OutputRule()).scan()[0]), ['model.pt'])

    def test_takes_all_files_for_the_programs_if_a_power_failure_damaged_the_record(self) -> None:
        vm = self.boot()
        vm.write('out/ckpt.pt')
        vm.baseline_file.write_bytes(b'')
        vm.tree.work = vm.open(OutputRule())
        self.assertIn('out/ckpt.pt', vm.find())

    def test_leaves_out_hidden_files_caches_and_virtual_environments(self) -> None:
        vm = self.boot()
        for name in ('.netrc', '.cache/hub/model', '.git/HEAD', 'trainer/__pycache__/a.pyc', 'a/node_modules/b/c.js'):
            vm.write(name)
        vm.write('cache/CACHEDIR.TAG')
        vm.write('cache/blob')
        vm.write('env/pyvenv.cfg')
        vm.write('env/lib/module.py')
        vm.write('wandb/offline-run-1/files/config.yaml')
        self.assertEqual(vm.find(), ['wandb/offline-run-1/files/config.yaml'])

    def test_patterns_with_many_wildcards_are_fast(self) -> None:
        names = ['a'] * 18
        rule = OutputRule(('/'.join(['**'] * 9 + ['x']), '/'.join(['**', 'a'] * 9 + ['x'])))
        started_at = time.monotonic()
        self.assertFalse(rule.admits('/'.join(names)))
        self.assertTrue(rule.enters('/'.join(names)))
        self.assertTrue(rule.admits('/'.join([*names, 'x'])))
        self.assertLess(time.monotonic() - started_at, 1)

    def test_patterns_choose_files(self) -> None:
        names = ['a.pt', 'b.txt', 'out/a.pt', 'out/deep/c.pt', 'out/.hidden/d.pt', '.cache/model/e.pt', '.cache/token']
        cases: List[Tuple[str, List[str]]] = [
            ('*.pt', ['a.pt']),
            ('out', ['out/a.pt', 'out/deep/c.pt']),
            ('out/', ['out/a.pt', 'out/deep/c.pt']),
            ('out/*.pt', ['out/a.pt']),
            ('**/*.pt', ['a.pt', 'out/a.pt', 'out/deep/c.pt']),
            ('**/deep', ['out/deep/c.pt']),
            ('out/**', ['out/a.pt', 'out/deep/c.pt']),
            ('.cache/model', ['.cache/model/e.pt']),
            ('out/.hidden/*', ['out/.hidden/d.pt']),
            ('[ab].*', ['a.pt', 'b.txt']),
            ('*', ['a.pt', 'b.txt', 'out/a.pt', 'out/deep/c.pt']),
            ('none', []),
        ]
        for pattern, expected in cases:
            with self.subTest(pattern):
                vm = self.boot(rule=OutputRule((pattern,)))
                for name in names:
                    vm.write(name)
                self.assertEqual(vm.find(), expected)
        vm = self.boot(rule=OutputRule(('a.pt', 'out/deep')))
        for name in names:
            vm.write(name)
        self.assertEqual(vm.find(), ['a.pt', 'out/deep/c.pt'])


class LimitTest(WorkOutputTestCase):
    def test_leaves_out_the_largest_folder_and_the_one_in_it_that_has_almost_everything(self) -> None:
        def left_out(**sizes: int) -> Optional[str]:
            stamps = {name.replace('_', '/'): Stamp(1, size, 1) for name, size in sizes.items()}
            found = find_too_large(stamps)
            return found[0].folder if found else None

        self.assertIsNone(left_out(data_a=BYTES_MAX - 1, model=1))
        self.assertEqual(left_out(data_a=BYTES_MAX, model=1), 'data')
        self.assertEqual(left_out(data_raw_a=50 * GIB, data_list=1, out_ckpt=9 * GIB), 'data/raw')
        self.assertEqual(left_out(data_raw_a=5 * GIB, data_train_b=5 * GIB, out_ckpt=2 * GIB), 'data')
        self.assertEqual(left_out(model=11 * GIB, out_ckpt=2 * GIB), '')
        many = {f'cache{number}_x': 1 for number in range(9)}
        self.assertEqual(left_out(out_ckpt=9 * GIB, data_a=9 * GIB - 1, **many), 'out')

    def test_leaves_out_the_folder_with_the_most_files_for_the_rest_of_the_boot(self) -> None:
        vm = self.boot()
        vm.write('out/ckpt.pt')
        (vm.work / 'frames').mkdir()
        for number in range(FILES_MAX):
            (vm.work / 'frames' / str(number)).touch()
        self.assertEqual(vm.find(), ['out/ckpt.pt'])
        self.assertEqual(vm.left_out, [LeftOut('frames', 0, FILES_MAX)])
        os.remove(vm.work / 'frames' / '1')
        vm.write('out/second.pt')
        self.assertEqual(vm.find(), ['out/ckpt.pt', 'out/second.pt'])
        self.assertEqual(len(vm.left_out), 1)

    def test_leaves_out_many_folders_at_once_and_names_the_first(self) -> None:
        vm = self.boot()
        recorded: List[Finding] = []
        baseline, findings = read_baseline(vm.work, vm.baseline_file), OutputFindings(recorded.append)
        vm.tree.work = WorkFolder(vm.work, baseline, OutputRule(), findings.add_left_out, FILES_MAX)
        for number in range(2 * FILES_MAX):
            vm.write(f'sample\n{number:03d}/image')
            vm.write(f'sample\n{number:03d}/label')
        self.assertLessEqual(len(vm.find()), FILES_MAX)
        self.assertEqual(len(recorded), 1)
        self.assertIn('sample?000, sample?001, sample?002 and 72 other folders', recorded[0].message)

    def test_patterns_have_no_limit_but_that_of_all_outputs(self) -> None:
        vm = self.boot(rule=OutputRule(('frames',)))
        (vm.work / 'frames').mkdir()
        for number in range(FILES_MAX + 1):
            (vm.work / 'frames' / str(number)).touch()
        self.assertEqual(len(vm.find()), FILES_MAX + 1)
        self.assertEqual(vm.left_out, [])

    def test_a_folder_that_outgrows_the_limit_keeps_its_last_saved_version(self) -> None:
        vm = self.boot()
        vm.write('out/ckpt.pt', 'first')
        self.assertEqual(vm.sync.finish(POLICY), ())
        for number in range(FILES_MAX + 1):
            (vm.work / 'out' / str(number)).touch()
        vm.write('out/ckpt.pt', 'second')
        vm.write('log.txt')
        self.assertEqual(vm.sync.finish(POLICY), ())
        after = self.boot(Author('nanogpt', 2))
        self.assertEqual(after.restore(), [f'{WORK_PREFIX}log.txt', f'{WORK_PREFIX}out/ckpt.pt'])
        self.assertEqual((after.work / 'out' / 'ckpt.pt').read_text(), 'first')


class RestoreTest(WorkOutputTestCase):
    def test_the_next_attempt_finds_the_files_where_the_program_wrote_them(self) -> None:
        vm = self.boot()
        vm.write('out/ckpt.pt', 'weights')
        vm.write('trainer/config.yaml', 'lr: 2')
        (vm.output / 'model').write_text('saved')
        self.assertEqual(vm.sync.finish(POLICY), ())
        after = self.boot(Author('nanogpt', 2))
        self.assertEqual(after.restore(), [f'{WORK_PREFIX}out/ckpt.pt', f'{WORK_PREFIX}trainer/config.yaml', 'model'])
        self.assertEqual((after.work / 'out' / 'ckpt.pt').read_text(), 'weights')
        self.assertEqual((after.work / 'trainer' / 'config.yaml').read_text(), 'lr: 2')
        after.write('second', 'y')
        self.assertEqual(after.sync.finish(POLICY), ())
        self.assertEqual(
            self.boot(Author('nanogpt', 3)).restore(),
            [f'{WORK_PREFIX}out/ckpt.pt', f'{WORK_PREFIX}second', f'{WORK_PREFIX}trainer/config.yaml', 'model'],
        )

    def test_a_folder_that_a_killed_program_had_emptied_keeps_its_last_saved_version(self) -> None:
        vm = self.boot()
        vm.write('ckpts/model', 'complete')
        vm.write('runs/old')
        vm.write('runs/new')
        self.assertEqual(vm.sync.finish(POLICY), ())
        shutil.rmtree(vm.work / 'ckpts')
        (vm.work / 'ckpts').mkdir()
        (vm.work / 'runs' / 'old').unlink()
        self.assertEqual(vm.sync.finish(POLICY, was_killed=True), ())
        after = self.boot(Author('nanogpt', 2))
        self.assertEqual(after.restore(), [f'{WORK_PREFIX}ckpts/model', f'{WORK_PREFIX}runs/new'])
        after.sync.finish(POLICY)
        shutil.rmtree(after.work / 'ckpts')
        self.assertEqual(after.sync.finish(POLICY), ())
        self.assertEqual(self.boot(Author('nanogpt', 3)).restore(), [f'{WORK_PREFIX}runs/new'])

    def test_files_that_a_package_brings_are_not_replaced_by_those_of_another_job(self) -> None:
        vm = self.boot()
        vm.write('out/ckpt.pt')
        vm.write('trainer/config.yaml', 'lr: 2')
        vm.sync.finish(POLICY)
        other = self.boot(Author('second', 1))
        self.assertEqual(other.restore(), [f'{WORK_PREFIX}out/ckpt.pt'])
        self.assertEqual((other.work / 'trainer' / 'config.yaml').read_text(), 'lr: 1')

    def test_nor_are_they_by_a_version_over_which_another_was_uploaded_and_not_committed(self) -> None:
        self.cloud.is_versioned = True
        vm = self.boot()
        vm.write('trainer/config.yaml', 'lr: 2')
        vm.sync.finish(POLICY)
        vm.write('trainer/config.yaml', 'lr: 3')
        vm.directory.upload(f'{WORK_PREFIX}trainer/config.yaml', vm.work / 'trainer' / 'config.yaml', POLICY)
        self.assertEqual(self.boot(Author('second', 1)).restore(), [])
        self.assertEqual(self.boot(Author('nanogpt', 2)).restore(), [f'{WORK_PREFIX}trainer/config.yaml'])

    def test_a_file_in_the_place_of_a_folder_of_the_package_and_the_other_way_around_are_restored(self) -> None:
        vm = self.boot()
        (vm.work / 'train.py').unlink()
        vm.write('train.py/ckpt', '1')
        shutil.rmtree(vm.work / 'trainer')
        vm.write('trainer', '2')
        (vm.work / 'neighbor.yaml').unlink()
        vm.write('neighbor.yaml/ckpt', '3')
        self.assertEqual(vm.sync.finish(POLICY), ())
        after = self.boot(Author('nanogpt', 2))
        self.assertEqual(len(after.restore()), 3)
        found = [(after.work / name).read_text() for name in ('train.py/ckpt', 'trainer', 'neighbor.yaml/ckpt')]
        self.assertEqual(found, ['1', '2', '3'])
        other = self.boot(Author('second', 1))
        self.assertEqual(other.restore(), [])
        self.assertEqual((other.work / 'trainer' / 'config.yaml').read_text(), 'lr: 1')

    def test_a_job_that_does_not_save_its_working_directory_keeps_what_is_saved_of_it(self) -> None:
        vm = self.boot()
        vm.write('out/ckpt.pt')
        vm.sync.finish(POLICY)
        without = self.boot(Author('second', 1), rule=None)
        self.assertEqual(without.restore(), [])
        (without.output / 'model').write_text('saved')
        without.sync.finish(POLICY)
        self.assertEqual(self.boot(Author('third', 1)).restore(), [f'{WORK_PREFIX}out/ckpt.pt', 'model'])

    def test_a_success_is_recorded_with_all_outputs_and_forgotten_by_the_next_attempt(self) -> None:
        vm = self.boot()
        (vm.output / 'model').write_text('saved')
        self.assertEqual(vm.sync.finish(POLICY, marks=(END_KEY,)), ())
        self.assertEqual(self.manifest.marks, (END_KEY,))
        self.assertEqual(vm.sync.finish(POLICY, marks=(END_KEY, SUCCESS_KEY)), ())
        self.assertEqual(self.manifest.marks, (END_KEY, SUCCESS_KEY))
        self.assertEqual(sorted(decode_manifest(self.manifest.body, BUCKET, 'p/').files), ['model'])
        self.boot(Author('nanogpt', 2))
        self.assertEqual(self.manifest.marks, ())

    def test_a_success_whose_outputs_are_not_all_saved_is_not_recorded(self) -> None:
        vm = self.boot()
        (vm.output / 'model').write_text('saved')
        self.cloud.reject = lambda received: 503 if received.path.endswith('/model') else None
        self.assertNotEqual(vm.sync.finish(RetryPolicy(tries_max=1, seconds_max=0.1), marks=(END_KEY, SUCCESS_KEY)), ())
        self.assertEqual(self.manifest.marks, ())

    @property
    def manifest(self) -> StoredObject:
        return self.cloud.objects[f'p/{MANIFEST_NAME}']

    def test_the_output_directory_has_no_files_of_the_working_directory(self) -> None:
        vm = self.boot()
        (vm.output / 'dropforge-workdir').mkdir()
        (vm.output / 'dropforge-workdir' / 'model').write_text('x')
        self.assertEqual(vm.tree.scan('p/').files, {})
        self.assertIn('reserved', vm.tree.scan('p/').skipped[0])


if __name__ == '__main__':
    unittest.main()
