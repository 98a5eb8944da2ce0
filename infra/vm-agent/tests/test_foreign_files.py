import os
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.container.image_folder import ImageFolder
from vm_agent.container.layout import Layout, container_stack_dumps
from vm_agent.container.packages import unpack_packages
from vm_agent.container.spec import ContainerSpec
from vm_agent.control.container_launcher import ContainerLauncher
from vm_agent.control.state_file import State
from vm_agent.health.stack_dump import dump_stacks
from vm_agent.metrics.program_metrics import MetricPaths, ProgramMetrics
from vm_agent.metrics.sources.hypertune_file import HypertuneFile
from vm_agent.paths.stacks import DUMP_SIGNAL
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.program.foreign_files import open_below
from vm_agent.setup.packages import Archive
from vm_agent.storage.directory.object_names import WORK_PREFIX
from vm_agent.storage.output.output_files import stamp_of
from vm_agent.storage.output.output_rule import OutputRule
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging, UnstableFile, Wanted
from vm_agent.storage.output.work_folder import WorkFolder

# Registers the handler, which puts a link in the place of the file that the agent reads.
SWAPS = """
import os, signal, sys
file = open(sys.argv[1], 'a')
def swap(*_):
    os.unlink(sys.argv[1])
    os.symlink(sys.argv[2], sys.argv[1])
signal.signal(int(sys.argv[3]), swap)
print('ready', flush=True)
while True:
    signal.pause()
"""


class ForeignFilesTest(unittest.TestCase):
    """
    Links that a program in a container leaves in its mounts, to lead the agent to files that it cannot reach itself.
    """

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name, 'home')
        for name in ('output', 'metrics/hypertune', 'outside'):
            (self.home / name).mkdir(parents=True)
        self.outside = Path(holder.name, 'private')
        self.outside.write_text('private\n')
        self.outside.chmod(0o600)

    def test_a_link_in_the_place_of_the_folder_in_which_the_program_runs_ends_the_attempt_after_a_reboot(self) -> None:
        package = self.home / 'sources' / '0'
        (package / 'src' / 'trainer').mkdir(parents=True)
        state = SimpleNamespace(current=State('digits', 1, working_directory=str(package)))
        none: Any = None
        for workdir in ('src', 'src/trainer'):
            config = SimpleNamespace(options=SimpleNamespace(workdir=workdir))
            setup: Any = SimpleNamespace(vm=SimpleNamespace(home=self.home, config=config, mark='1'), state=state)
            launcher = ContainerLauncher(ContainerSpec('image', 1, 2, 3, (), '', '', 'NONE', None), setup, none, none)
            self.assertEqual(launcher.working_directory(), package / workdir)
            (package / 'src').rename(package / 'moved')
            (package / 'src').symlink_to(self.home / 'outside')
            (self.home / 'outside' / 'trainer').mkdir(exist_ok=True)
            with self.assertRaises(ReplicaEnded):
                launcher.working_directory()
            (package / 'src').unlink()
            (package / 'moved').rename(package / 'src')

    def test_files_of_an_image_folder_are_kept_if_the_power_fails_before_its_container_is_removed(self) -> None:
        layer = self.home / 'layer'
        layer.mkdir()
        (layer / 'model').write_text('trained')
        engine: Any = None
        image = ImageFolder(engine, 'container', '/app', self.home / 'image-folder')
        for _ in range(2):
            image.take(layer, [path.name for path in layer.iterdir()])
        self.assertEqual((image.folder / 'model').read_text(), 'trained')

    def within(self, seconds: int, action: Callable[[], object]) -> None:
        def fail(*_: object) -> None:
            raise AssertionError('it blocks')

        previous = signal.signal(signal.SIGALRM, fail)
        signal.alarm(seconds)
        try:
            action()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, previous)

    def layout(self, package: Optional[Path] = None) -> Layout:
        return Layout(self.home, 'gs://bucket/job', (), package, '/')

    def test_the_state_of_metrics_is_written_where_the_program_puts_no_link(self) -> None:
        for name in ('state.new', 'state.json', 'metrics-state.new', 'metrics-state.json'):
            (self.home / 'metrics' / name).symlink_to(self.outside)
        metrics = ProgramMetrics(MetricPaths(self.home))
        metrics.start(0.0, False, 3_600.0)
        metrics.add_output('stdout', b'{"loss": 0.5}\n')
        metrics.read()
        self.assertEqual(self.outside.read_text(), 'private\n')

    def test_named_pipes_in_the_place_of_metrics_do_not_block_the_agent(self) -> None:
        paths = MetricPaths(self.home)
        os.mkfifo(paths.metrics_file)
        os.mkfifo(paths.hypertune_file)
        metrics = ProgramMetrics(paths)
        metrics.start(0.0, False, 3_600.0)
        self.within(5, metrics.read)

    def test_folders_that_are_prepared_again_after_a_reboot_open_no_other_files(self) -> None:
        folder = self.outside.with_name('folder')
        folder.mkdir(mode=0o700)
        container_stack_dumps(self.home).symlink_to(self.outside)
        (self.home / 'metrics' / 'hypertune').rmdir()
        (self.home / 'metrics' / 'hypertune').symlink_to(folder)
        (self.home / 'output' / 'link').symlink_to(self.outside)
        self.layout().prepare()
        self.assertEqual(stat.S_IMODE(self.outside.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(container_stack_dumps(self.home).lstat().st_mode), 0o666)
        self.assertTrue((self.home / 'metrics' / 'hypertune').is_dir())

    def test_a_package_that_the_program_replaced_by_a_link_is_not_opened_to_all_after_a_reboot(self) -> None:
        folder = self.outside.with_name('folder')
        (folder / 'inner').mkdir(mode=0o700, parents=True)
        (folder / 'inner' / 'file').touch(0o600)
        unpacked = self.home / 'sources' / '0'
        unpacked.mkdir(parents=True)
        (unpacked / 'digits-1.0').symlink_to(folder)
        for package in (unpacked / 'digits-1.0', unpacked / 'digits-1.0' / 'inner'):
            with self.subTest(package), self.assertRaises(ReplicaEnded) as ended:
                self.layout(package).prepare()
            self.assertEqual(ended.exception.report.reason, 'CONTAINER_NOT_STARTED')
        self.assertEqual(stat.S_IMODE((folder / 'inner').stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((folder / 'inner' / 'file').stat().st_mode), 0o600)
        self.assertFalse((folder / 'gs:').exists())

    def test_what_a_package_that_became_a_link_leads_to_is_not_saved(self) -> None:
        package = self.home / 'sources' / '0' / 'digits-1.0'
        package.mkdir(parents=True)
        tree = OutputTree(self.home / 'output')
        tree.work = WorkFolder(package, {}, OutputRule(), lambda left_out: None)
        staging = Staging(self.home / 'staging', tree, lambda: 1 << 30)
        staging.clear()
        (package / 'private').write_text('mine')
        name = f'{WORK_PREFIX}private'
        self.assertEqual(staging.stage(Wanted(name, tree.scan('').files[name])).path.read_text(), 'mine')
        package.rename(package.with_name('other'))
        package.symlink_to(self.outside.parent)
        self.assertEqual(tree.scan('').files, {})
        with self.assertRaises(UnstableFile):
            staging.stage(Wanted(name, stamp_of(self.outside)))

    def test_folders_of_metrics_that_became_links_are_not_read(self) -> None:
        folder = self.outside.with_name('folder')
        folder.mkdir()
        paths = MetricPaths(self.home)
        record = b'{"accuracy": 0.5, "global_step": 1}\n'
        paths.hypertune_file.write_bytes(record)
        self.assertEqual(len(HypertuneFile(paths.hypertune_file).read()), 1)
        paths.hypertune_file.rename(folder / 'output.metrics')
        paths.hypertune_file.parent.rmdir()
        paths.hypertune_file.parent.symlink_to(folder)
        self.assertEqual(HypertuneFile(paths.hypertune_file).read(), [])

    def test_a_file_below_a_folder_that_became_a_link_is_not_opened(self) -> None:
        (self.home / 'output' / 'logs').mkdir()
        (self.home / 'output' / 'logs' / 'private').write_text('own')
        with open_below(self.home / 'output', 'logs/private') as file:
            self.assertEqual(file.read(), b'own')
        (self.home / 'output' / 'logs').rename(self.home / 'output' / 'other')
        (self.home / 'output' / 'logs').symlink_to(self.outside.parent)
        with self.assertRaises(OSError):
            open_below(self.home / 'output', 'logs/private')

    def test_a_package_that_is_mounted_may_be_written_by_any_user(self) -> None:
        archive = self.outside.with_name('trainer.tar.gz')
        with tarfile.open(archive, 'w:gz') as tar:
            source = self.outside.with_name('task.py')
            source.write_text('print(1)')
            source.chmod(0o600)
            tar.add(source, 'trainer/task.py')
            tar.add(os.devnull, 'trainer/__init__.py')
        package = unpack_packages([Archive(archive, None)], self.home / 'sources', 'trainer.task').working_directory
        assert package is not None
        self.layout(package).prepare()
        self.assertEqual(stat.S_IMODE(next(package.rglob('task.py')).stat().st_mode) & 0o666, 0o666)

    def test_a_link_that_replaces_the_stack_dump_is_not_read(self) -> None:
        dump_file = container_stack_dumps(self.home)
        argv = [sys.executable, '-c', SWAPS, str(dump_file), str(self.outside), str(int(DUMP_SIGNAL))]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        self.assertEqual(dump_stacks([process.pid], dump_file, Path('/none/python')), ())

    def test_a_link_that_replaces_an_output_after_it_was_found_is_not_saved(self) -> None:
        output = self.home / 'output'
        staging = Staging(self.home / 'staging', OutputTree(output), lambda: 1 << 30)
        staging.clear()
        (output / 'model').symlink_to(self.outside)
        (output / 'folder').symlink_to(self.outside.parent)
        for name in ('model', 'folder/private'):
            with self.subTest(name), self.assertRaises(UnstableFile):
                staging.stage(Wanted(name, stamp_of(self.outside), must_copy=False))
        (output / 'own').write_text('own')
        (output / 'link').symlink_to('own')
        staged = staging.stage(Wanted('link', stamp_of(output / 'own'), must_copy=False))
        self.assertEqual(staged.path.read_text(), 'own')


if __name__ == '__main__':
    unittest.main()
