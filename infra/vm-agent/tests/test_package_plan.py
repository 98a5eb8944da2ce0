import sys
import tempfile
import unittest
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Dict, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.package_layout import PackageLayout, PackageProgram
from vm_agent.setup.package_plan import PackagePlan, find_import_roots, plan_packages, read_requirements
from vm_agent.setup.packages import Archive
from vm_agent.setup.work_directory import create_job_dir_link, link_neighbors

SETUP = "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n"
PROJECT = PackageLayout('PROJECT', '', ('',), PackageProgram('MODULE', 'trainer/task.py'), None, (), ())
SOURCES = PackageLayout('SOURCES', 'mine', ('mine',), PackageProgram('MODULE', 'mine/train.py'), 'mine', (), ())


class PackagePlanTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.sources = self.folder / 'sources'

    def archive(self, files: Dict[str, str], layout: Optional[PackageLayout]) -> Archive:
        path = self.folder / f'{len(list(self.folder.iterdir()))}.zip'
        with zipfile.ZipFile(path, 'w') as opened:
            for entry, text in files.items():
                opened.writestr(entry, text)
        return Archive(path, layout)

    def plan(self, module: str, *packages: Tuple[PackageLayout, Dict[str, str]]) -> PackagePlan:
        archives = [self.archive(files, layout) for layout, files in packages]
        return plan_packages(archives, self.sources, module)

    def relative(self, path: Optional[Path]) -> Optional[str]:
        return None if path is None else path.relative_to(self.sources).as_posix()

    def test_installs_a_project_and_runs_its_module_without_its_files(self) -> None:
        files = {'t-1/setup.py': SETUP.replace('name', "install_requires=['x'], name"), 't-1/trainer/task.py': ''}
        plan = self.plan('trainer.task', (replace(PROJECT, root='t-1', import_roots=('t-1',)), files))
        self.assertEqual([self.relative(Path(tree)) for tree in plan.targets.trees], ['0/t-1'])
        self.assertIsNone(plan.program.working_directory)

    def test_runs_sources_in_their_folder_with_their_requirements(self) -> None:
        layout = replace(SOURCES, requirement_files=('mine/requirements.txt',), requirements=('einops',))
        plan = self.plan('train', (layout, {'mine/train.py': '', 'mine/requirements.txt': 'numpy>=1 # arrays\n\n'}))
        self.assertEqual([self.relative(root) for root in plan.import_roots], ['0/mine'])
        self.assertEqual(self.relative(plan.program.working_directory), '0/mine')
        self.assertEqual(plan.targets.requirements, ['einops', 'numpy>=1'])
        self.assertEqual((plan.targets.trees, plan.program.script), ([], None))

    def test_runs_in_the_package_that_contains_the_program(self) -> None:
        tools = replace(SOURCES, root='common', import_roots=('common',), program=None, working_directory='common')
        script = replace(SOURCES, program=PackageProgram('SCRIPT', 'mine/run/train-all.py'))
        files = {'mine/run/train-all.py': ''}
        plan = self.plan('run/train-all.py', (tools, {'common/tools.py': ''}), (script, files))
        self.assertEqual(self.relative(plan.program.working_directory), '1/mine')
        self.assertEqual(plan.program.script, 'run/train-all.py')
        self.assertEqual([self.relative(root) for root in plan.import_roots], ['0/common', '1/mine'])

    def test_makes_a_project_that_has_only_a_setup_cfg_installable(self) -> None:
        self.plan('trainer.task', (PROJECT, {'setup.cfg': '[metadata]\nname = trainer\n', 'trainer/task.py': ''}))
        self.assertIn('setup()', (self.sources / '0' / 'setup.py').read_text())

    def test_imports_a_module_from_the_sources_if_the_installation_lacks_it(self) -> None:
        files = {'setup.py': SETUP.replace('name', "install_requires=['x'], name"), 'loose/run.py': '', 'json/x.py': ''}
        missing = self.plan('loose.run', (replace(PROJECT, program=PackageProgram('MODULE', 'loose/run.py')), files))
        installed = self.plan('json.tool', (PROJECT, files))
        python = Path(sys.executable)
        self.assertEqual([self.relative(root) for root in find_import_roots(missing, 'loose.run', python)], ['0'])
        self.assertEqual(find_import_roots(installed, 'json.tool', python), [])

    def test_packages_of_a_job_that_was_accepted_without_layouts_run_as_they_did(self) -> None:
        task = {'trainer/__init__.py': '', 'trainer/task.py': ''}
        for what, module, files, expected in (
            ('a source distribution', 'trainer.task', {'t-1/setup.py': SETUP, 't-1/trainer/task.py': ''}, 'PROJECT t-1 -'),
            ('a project beside noise', 'train', {'._x': '', 'p/setup.py': SETUP, 'p/train.py': ''}, 'PROJECT p -'),
            ('an importable package', 'trainer.task', task, 'SOURCES . .'),
            ('the same, named from inside', 'task', task, 'SOURCES trainer trainer'),
            ('flat modules in a folder', 'train', {'mine/train.py': '', 'mine/src/x.py': ''}, 'SOURCES mine mine'),
            ('modules in src', 'train', {'src/train.py': '', 'README': ''}, 'SOURCES . .'),
            ('a script', 'run/train.py', {'m/run/train.py': '', 'm/pyproject.toml': '[tool.ruff]'}, 'SOURCES m m'),
            ('the script of a project', 'train.py', {'m/setup.py': SETUP, 'm/train.py': ''}, 'PROJECT m m'),
            ('a command', '', {'m/train.sh': ''}, 'SOURCES m m'),
        ):
            with self.subTest(what):
                layout = self.archive(files, None).unpack(self.sources, module)
                shown = f'{layout.style} {layout.root or "."} ' + (
                    '-' if layout.working_directory is None else layout.working_directory or '.'
                )
                self.assertEqual(shown, expected)
                self.assertEqual(layout.program is None, module == '')

    def test_requirements_of_a_job_that_was_accepted_without_layouts_are_installed(self) -> None:
        listed, declared = {'m/requirements.txt': '', 'm/train.py': ''}, SETUP.replace('name', 'install_requires=[], name')
        for files, expected in (
            (listed, ('m/requirements.txt',)),
            ({**listed, 'm/setup.py': SETUP}, ('m/requirements.txt',)),
            ({**listed, 'm/setup.py': declared}, ()),
        ):
            with self.subTest(files):
                self.assertEqual(self.archive(files, None).unpack(self.sources, 'train').requirement_files, expected)
        for name in ('requirements-gpu.txt', 'train.py', 'trainer-1-py3-none-any.whl'):
            path = self.folder / name
            path.write_text('')
            layout = Archive(path, None).unpack(self.sources, 'train')
            self.assertEqual(layout.requirement_files, (name,) if name.endswith('.txt') else ())
            self.assertEqual(layout.style, 'WHEEL' if name.endswith('.whl') else 'SOURCES')

    def test_reports_a_package_that_cannot_be_unpacked(self) -> None:
        (self.folder / 'broken.tar.gz').write_bytes(b'no archive')
        with self.assertRaises(ReplicaEnded) as ended:
            plan_packages([Archive(self.folder / 'broken.tar.gz', SOURCES)], self.sources, 'train')
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
