import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Dict, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.package_plan import PackagePlan, find_import_roots, plan_packages, read_requirements
from vm_agent.setup.work_directory import create_job_dir_link, link_neighbors

SETUP = "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n"


class PackagePlanTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.sources = self.folder / 'sources'

    def archive(self, files: Dict[str, str], name: str = 'package.zip') -> Path:
        path = self.folder / name
        with zipfile.ZipFile(path, 'w') as opened:
            for entry, text in files.items():
                opened.writestr(entry, text)
        return path

    def plan(self, module: str, *packages: Dict[str, str]) -> PackagePlan:
        archives = [self.archive(files, f'{number}.zip') for number, files in enumerate(packages)]
        return plan_packages(archives, self.sources, module)

    def relative(self, path: Optional[Path]) -> Optional[str]:
        return None if path is None else path.relative_to(self.sources).as_posix()

    def test_installs_a_project_with_an_init_file_beside_setup(self) -> None:
        files = {'t-1/setup.py': SETUP.replace('name', "install_requires=['x'], name"), 't-1/__init__.py': ''}
        plan = self.plan('trainer.task', {**files, 't-1/trainer/__init__.py': '', 't-1/trainer/task.py': ''})
        self.assertEqual([self.relative(Path(tree)) for tree in plan.trees], ['0/t-1'])
        self.assertIsNone(plan.program.working_directory)

    def test_runs_flat_modules_in_their_folder_with_their_requirements(self) -> None:
        plan = self.plan('train', {'mine/train.py': '', 'mine/requirements.txt': 'numpy>=1 # arrays\n\n'})
        self.assertEqual([self.relative(root) for root in plan.import_roots], ['0/mine'])
        self.assertEqual(self.relative(plan.program.working_directory), '0/mine')
        self.assertEqual(plan.requirements, ('numpy>=1',))
        self.assertEqual((plan.trees, plan.program.script), ((), None))

    def test_runs_in_the_package_that_contains_the_program(self) -> None:
        plan = self.plan('run/train-all.py', {'common/tools.py': ''}, {'m/run/train-all.py': ''})
        self.assertEqual(self.relative(plan.program.working_directory), '1/m')
        self.assertEqual(plan.program.script, 'run/train-all.py')
        self.assertEqual([self.relative(root) for root in plan.import_roots], ['0/common', '1/m'])

    def test_inline_metadata_that_cannot_be_parsed_requires_nothing(self) -> None:
        deep = '# /// script\n# dependencies = ["numpy"]\n# x = ' + '[' * 5_000 + ']' * 5_000 + '\n# ///\n'
        self.assertEqual(self.plan('train', {'m/train.py': deep}).requirements, ())

    def test_runs_a_single_file(self) -> None:
        (self.folder / 'train.py').write_text('print(1)')
        plan = plan_packages([self.folder / 'train.py'], self.sources, 'train')
        self.assertEqual(self.relative(plan.program.working_directory), '0')
        self.assertTrue((self.sources / '0' / 'train.py').is_file())

    def test_makes_a_project_that_has_only_a_setup_cfg_installable(self) -> None:
        self.plan('trainer.task', {'setup.cfg': '[metadata]\nname = trainer\n', 'trainer/task.py': ''})
        self.assertIn('setup()', (self.sources / '0' / 'setup.py').read_text())

    def test_imports_a_module_from_the_sources_if_the_installation_lacks_it(self) -> None:
        files = {'setup.py': SETUP.replace('name', "install_requires=['x'], name"), 'loose/run.py': '', 'json/x.py': ''}
        missing, installed = self.plan('loose.run', files), self.plan('json.tool', files)
        python = Path(sys.executable)
        self.assertEqual([self.relative(root) for root in find_import_roots(missing, 'loose.run', python)], ['0'])
        self.assertEqual(find_import_roots(installed, 'json.tool', python), ())

    def test_reports_a_package_that_cannot_be_unpacked(self) -> None:
        (self.folder / 'broken.tar.gz').write_bytes(b'no archive')
        with self.assertRaises(ReplicaEnded) as ended:
            plan_packages([self.folder / 'broken.tar.gz'], self.sources, 'train')
        self.assertEqual(ended.exception.report.reason, 'PACKAGE_UNREADABLE')


class RequirementsFileTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = Path(holder.name, 'requirements.txt')

    def read(self, text: str) -> tuple:
        self.path.write_text(text, 'utf-8')
        return read_requirements(self.path)

    def test_lists_plain_requirements(self) -> None:
        text = '\ufeff# all\nnumpy\npandas [x] >=2,<3\ntorch~=2.1; python_version < "3.12"  # gpu\r\np @ https://a/p.whl\n'
        plain = ('numpy', 'pandas [x] >=2,<3', 'torch~=2.1; python_version < "3.12"', 'p @ https://a/p.whl')
        self.assertEqual(self.read(text), plain)

    def test_passes_a_file_with_anything_else_to_pip_without_the_project_itself(self) -> None:
        for line in ('-r base.txt', '--extra-index-url https://a', 'numpy==2.0 \\', './wheels/a.whl', 'git+https://a/b'):
            with self.subTest(line):
                option, path = self.read(f'-e .\n{line}\n.[gpu]\n')
                self.assertEqual((option, Path(path).read_text()), ('-r', f'{line}\n'))
        self.assertEqual(self.read('-e .\nnumpy==2.0.0\n'), ('numpy==2.0.0',))


class WorkDirectoryTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder, self.output = Path(holder.name, 'work'), Path(holder.name, 'output')
        self.folder.mkdir()
        self.output.mkdir()

    def test_links_the_path_of_the_job_directory_to_the_output_directory(self) -> None:
        for before in ('nothing', 'the link of the boot before', 'a directory of the package', 'a file of the package'):
            if before.startswith('a '):
                (self.folder / 'gs:/bucket/a/b').unlink()
            if before == 'a directory of the package':
                (self.folder / 'gs:/bucket/a/b').mkdir()
            if before == 'a file of the package':
                (self.folder / 'gs:/bucket/a').rmdir()
                (self.folder / 'gs:/bucket/a').write_text('')
            with self.subTest(before):
                create_job_dir_link(self.folder, 'gs://bucket/a/b', self.output)
                Path(f'{self.folder}/gs://bucket/a/b/model').write_text(before)
                self.assertEqual((self.output / 'model').read_text(), before)

    def test_links_files_beside_a_script_that_the_working_directory_lacks(self) -> None:
        below = self.folder / 'examples' / 'xor'
        below.mkdir(parents=True)
        for path in (below / 'train.py', below / 'config', below / 'README', self.folder / 'README'):
            path.write_text(str(path))
        link_neighbors(below / 'train.py', self.folder)
        self.assertEqual((self.folder / 'config').read_text(), str(below / 'config'))
        self.assertEqual((self.folder / 'README').read_text(), str(self.folder / 'README'))
        link_neighbors(below / 'train.py', self.folder)


if __name__ == '__main__':
    unittest.main()
