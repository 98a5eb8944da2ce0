import io
import os
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Dict, List, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.installation import InstallPaths, ToolResult, find_error, find_missing, install
from vm_agent.setup.package_index import Indexes, without_credentials
from vm_agent.setup.source_tree import InvalidArchive, can_build, inspect, read_requires_txt, unpack

SETUP = "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n"


class SourceTreeTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def tree(self, files: Dict[str, str]) -> Path:
        root = self.folder / 'tree'
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    def zip(self, *names: str) -> Path:
        path = self.folder / 'archive.zip'
        with zipfile.ZipFile(path, 'w') as archive:
            for name in names:
                archive.writestr(name, name)
        return path

    def tar(self, *members: tarfile.TarInfo) -> Path:
        path = self.folder / 'archive.tar.gz'
        with tarfile.open(path, 'w:gz') as archive:
            for member in members:
                archive.addfile(member, io.BytesIO(b'x' * member.size))
        return path

    def test_finds_the_root_of_a_project_and_of_a_plain_package(self) -> None:
        project = unpack(self.zip('trainer-1/setup.py', 'trainer-1/trainer/__init__.py'), self.folder / 'a')
        self.assertEqual((project.root.name, project.has_build_file), ('trainer-1', True))
        package = unpack(self.zip('trainer/__init__.py', 'trainer/task.py'), self.folder / 'b')
        self.assertEqual((package.import_root, package.has_build_file), (self.folder / 'b', False))

    def test_writes_nothing_outside_its_folder(self) -> None:
        for name in ('../out', '/out', 'a/../../out'):
            with self.subTest(name), self.assertRaises(InvalidArchive):
                unpack(self.zip(name), self.folder / 'inside')
        self.assertFalse((self.folder / 'out').exists())

    def test_ignores_links_and_devices(self) -> None:
        link, device, file = tarfile.TarInfo('link'), tarfile.TarInfo('device'), tarfile.TarInfo('link/file')
        link.type, link.linkname = tarfile.SYMTYPE, str(self.folder)
        device.type = tarfile.CHRTYPE
        file.size = 3
        root = unpack(self.tar(link, device, file), self.folder / 'inside').root
        self.assertFalse((self.folder / 'file').exists())
        self.assertFalse(any(path.is_symlink() for path in root.rglob('*')))

    def test_rejects_invalid_and_truncated_archives(self) -> None:
        complete = self.tar(*[tarfile.TarInfo(f'file-{number}') for number in range(50)]).read_bytes()
        for body in (b'', b'not an archive', complete[: len(complete) // 2]):
            path = self.folder / 'broken.tar.gz'
            path.write_bytes(body)
            with self.subTest(len(body)), self.assertRaises(InvalidArchive):
                unpack(path, self.folder / 'inside')

    def test_imports_from_the_directory_of_the_egg_info_with_its_requirements(self) -> None:
        files = {
            'setup.py': "setup(package_dir={'': 'src'})",
            'src/trainer.egg-info/requires.txt': 'numpy>=1\n\n[extra]\nscipy\n\n[:python_version < "3.8"]\nbackport\n',
            'src/trainer/__init__.py': '',
        }
        tree = inspect(self.tree(files))
        self.assertEqual(tree.import_root, tree.root / 'src')
        self.assertEqual(tree.requirements, ('numpy>=1', 'backport ; python_version < "3.8"'))

    def test_leaves_to_a_build_what_cannot_be_imported_directly(self) -> None:
        for files in (
            {'setup.py': SETUP.replace('name', 'cmdclass={}, name')},
            {'setup.py': SETUP, 'trainer/fast.pyx': ''},
            {'setup.py': SETUP.replace('name', "install_requires=['x'], name")},
            {'setup.py': SETUP, 'src/trainer/__init__.py': ''},
        ):
            with self.subTest(files), tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                self.assertIsNone(inspect(self.tree(files)).import_root)

    def test_can_build_only_with_the_build_backend_of_the_project(self) -> None:
        root = self.tree({'pyproject.toml': '[build-system]\nbuild-backend = "no_such_backend.api"\n'})
        self.assertFalse(can_build(root))
        (root / 'pyproject.toml').write_text('[build-system]\nbuild-backend = "json.tool"\n')
        self.assertTrue(can_build(root))

    def test_ignores_the_requirements_of_extras(self) -> None:
        self.assertEqual(read_requires_txt('\n[dev]\nx\n'), ())


class QuietIndex(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass


class InstallTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.commands: List[Sequence[str]] = []
        for name in ('PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'PIP_NO_INDEX'):
            before = os.environ.pop(name, None)
            if before is None:
                self.addCleanup(os.environ.pop, name, None)
            else:
                self.addCleanup(os.environ.__setitem__, name, before)

    def install_with_unknown_backend(self, exit_code: int) -> None:
        """Installs a package whose build backend is not on this machine."""
        archive = self.folder / 'trainer.zip'
        with zipfile.ZipFile(archive, 'w') as opened:
            opened.writestr('t/pyproject.toml', '[build-system]\nbuild-backend = "no_such_backend.api"\n')
            opened.writestr('t/setup.py', SETUP)
            opened.writestr('t/src/trainer/__init__.py', '')

        def run_tool(argv: Sequence[str]) -> ToolResult:
            self.commands.append(argv)
            return ToolResult(exit_code, ("Cannot import 'no_such_backend.api'",))

        paths = InstallPaths(self.folder / 'venv', self.folder / 'sources', os.environ)
        install([archive], paths, run_tool)

    def ran_without_isolation(self) -> List[bool]:
        return ['--no-build-isolation' in command for command in self.commands if 'install' in command]

    def test_uses_the_index_first_for_build_requirements_that_the_image_lacks(self) -> None:
        server = HTTPServer(('127.0.0.1', 0), QuietIndex)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever).start()
        os.environ['PIP_INDEX_URL'] = f'http://127.0.0.1:{server.server_port}/'
        self.install_with_unknown_backend(exit_code=0)
        self.assertEqual(self.ran_without_isolation(), [False])

    def test_builds_offline_without_an_index_and_names_what_is_missing(self) -> None:
        os.environ['PIP_NO_INDEX'] = '1'
        with self.assertRaises(ReplicaEnded) as ended:
            self.install_with_unknown_backend(exit_code=1)
        self.assertEqual(self.ran_without_isolation(), [True])
        self.assertIn('no_such_backend.api is missing', ended.exception.report.message)


class PipTest(unittest.TestCase):
    def test_names_the_missing_requirement(self) -> None:
        for line, missing in (
            ('ERROR: No matching distribution found for tensorflow==2.11', 'tensorflow==2.11'),
            ('ERROR: Could not find a version that satisfies the requirement jax>=9 (from versions: 1)', 'jax>=9'),
            ("ModuleNotFoundError: No module named 'Cython'", 'Cython'),
            ("  pip._vendor.pyproject_hooks.BackendUnavailable: Cannot import 'hatchling.build'", 'hatchling.build'),
            ("error: invalid command 'bdist_wheel'", 'bdist_wheel'),
        ):
            self.assertEqual(find_missing(['Collecting x', line, 'tail']), missing)
        self.assertIsNone(find_missing(['SyntaxError: invalid syntax']))

    def test_finds_the_most_specific_line(self) -> None:
        lines = ['Processing x', '      ValueError: boom', 'error: subprocess-exited-with-error', 'note: see above']
        self.assertEqual(find_error(lines), 'ValueError: boom')
        self.assertEqual(find_error(['', 'just this']), 'just this')
        self.assertEqual(find_error([]), 'pip printed nothing')

    def test_leaves_out_unreachable_indexes(self) -> None:
        self.assertEqual(Indexes(('a', 'b'), ()).pip_options(), ())
        self.assertEqual(Indexes(('b',), ('a',)).pip_options(), ('--index-url', 'b'))
        self.assertEqual(Indexes((), ('a',)).pip_options(), ('--no-index',))

    def test_removes_credentials(self) -> None:
        self.assertEqual(without_credentials('https://user:secret@host/simple'), 'https://host/simple')
        self.assertNotIn('secret', Indexes((), ('https://user:secret@host/simple',)).describe_unreachable())


if __name__ == '__main__':
    unittest.main()
