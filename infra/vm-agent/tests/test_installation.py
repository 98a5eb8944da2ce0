import os
import sys
import tempfile
import threading
import unittest
import zipfile
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Dict, List, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.http.credentials import without_credentials
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.installation import Installer, find_error, find_missing
from vm_agent.setup.installers import InstallPaths, ToolResult, read_uv_plan
from vm_agent.setup.package_index import Indexes
from vm_agent.setup.package_plan import PackagePlan, Targets, plan_packages
from vm_agent.setup.packages import Archive

SETUP = "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n"


class QuietIndex(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
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

        def run_tool(argv: Sequence[str], *, is_logged: bool = True) -> ToolResult:
            self.commands.append(argv)
            return ToolResult(exit_code, ("Cannot import 'no_such_backend.api'",))

        plan = plan_packages([Archive(archive, None)], self.folder / 'sources', 'trainer.task')
        Installer(InstallPaths(self.folder / 'venv', os.environ), run_tool, None, lambda *_: None).install(plan)

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


class UvTest(unittest.TestCase):
    """uv itself is not run: its command lines, what is read from its output, and that pip does what it cannot."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.commands: List[Sequence[str]] = []
        self.logged: List[str] = []
        self.printed: List[str] = []
        self.plan = ['Resolved 3 packages in 5ms', 'Would install 1 package', ' + einops==0.8.1']

    def install(self, exit_codes: Dict[str, int], **variables: str) -> None:
        """Installs a requirement that the image lacks, from an index that answers; `exit_codes` by tool."""
        bin_folder = self.folder / 'bin'
        bin_folder.mkdir()
        (bin_folder / 'uv').write_text('')
        (bin_folder / 'uv').chmod(0o755)
        (self.folder / 'simple').mkdir()

        def run_tool(argv: Sequence[str], *, is_logged: bool = True) -> ToolResult:
            self.commands.append(argv)
            self.printed += ['ERROR: Could not find a version'] if is_logged and '--no-index' in argv else []
            if '--no-index' in argv:
                return ToolResult(1, ('ERROR: No matching distribution found for einops',))
            lines = tuple(self.plan) if '--dry-run' in argv else ('installed',)
            return ToolResult(exit_codes.get(Path(argv[0]).name, 0), lines)

        environment = {
            'PATH': f'{bin_folder}{os.pathsep}{os.environ["PATH"]}',
            'PIP_CONFIG_FILE': os.devnull,
            'PIP_INDEX_URL': f'file://{self.folder}/simple',
            **variables,
        }
        plan = PackagePlan(Targets(requirements=['einops']))
        paths = InstallPaths(self.folder / 'venv', environment)
        Installer(paths, run_tool, None, lambda text, _severity: self.logged.append(text)).install(plan)

    def tools(self) -> List[str]:
        return [Path(argv[0]).name for argv in self.commands if 'install' in argv and '--no-index' not in argv]

    def test_asks_what_the_image_lacks_and_installs_only_that(self) -> None:
        self.install({})
        self.assertEqual(self.tools(), ['uv', 'uv'])
        plan, installation = self.commands[-2:]
        self.assertEqual(plan[plan.index('--python') + 1], sys.executable)
        self.assertEqual(installation[installation.index('--python') + 1], str(self.folder / 'venv/bin/python'))
        self.assertIn('--no-deps', installation)
        self.assertEqual(installation[-1], 'einops==0.8.1')
        self.assertIn('--default-index', installation)

    def test_says_why_an_index_is_used_without_the_errors_of_the_attempt_that_had_none(self) -> None:
        self.install({})
        self.assertIn('The machine image lacks einops, so a package index is used.', self.logged)
        self.assertEqual(self.printed, [])

    def test_logs_the_attempt_without_an_index_if_it_is_the_last_one(self) -> None:
        with self.assertRaises(ReplicaEnded):
            self.install({}, PIP_NO_INDEX='1')
        self.assertIn('ERROR: No matching distribution found for einops', self.logged)

    def test_leaves_to_pip_what_uv_cannot_do(self) -> None:
        self.install({'uv': 1})
        self.assertEqual(self.tools(), ['uv', 'python'])

    def test_leaves_to_pip_a_plan_that_is_incomplete(self) -> None:
        self.plan = ['Would install 2 packages', ' + einops==0.8.1']
        self.install({})
        self.assertEqual(self.tools(), ['uv', 'python'])

    def test_leaves_to_pip_a_configuration_that_uv_does_not_read(self) -> None:
        self.install({}, PIP_FIND_LINKS='/wheels')
        self.assertEqual(self.tools(), ['python'])

    def test_reads_versions_and_files_from_a_plan(self) -> None:
        lines = ['Would install 2 packages', ' + a==1.0', ' + trainer==0.1 (from file:///home/trainer.whl)', ' - b==2']
        self.assertEqual(read_uv_plan(lines), ['a==1.0', 'trainer @ file:///home/trainer.whl'])
        self.assertEqual(read_uv_plan(['Audited 3 packages in 1ms', 'Would make no changes']), [])
        self.assertIsNone(read_uv_plan(['error: unknown']))


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
