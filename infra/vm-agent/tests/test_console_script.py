import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.setup.console_script import find_console_script

MODULE = 'import sys\nclass Launcher:\n    @staticmethod\n    def main():\n        print(sys.argv)\n        return 3\n'


class ConsoleScriptTest(unittest.TestCase):
    """With a package that is installed for the Python of these tests, but not beside it."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        folder = Path(holder.name)
        (folder / 'launcher.py').write_text(MODULE)
        metadata = folder / 'launcher-1.0.dist-info'
        metadata.mkdir()
        (metadata / 'METADATA').write_text('Metadata-Version: 2.1\nName: launcher\nVersion: 1.0\n')
        (metadata / 'entry_points.txt').write_text('[console_scripts]\nlaunchrun = launcher:Launcher.main [extra]\n')
        self.environment = {**os.environ, 'PYTHONPATH': str(folder)}
        self.python = Path(sys.executable)

    def test_runs_the_script_of_a_package_with_the_python_of_the_job(self) -> None:
        argv = find_console_script(self.python, 'launchrun', self.environment)
        assert argv is not None
        ran = subprocess.run([*argv, '--nodes', '2'], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (3, "['launchrun', '--nodes', '2']\n"), ran.stderr)

    def test_leaves_other_commands_and_those_of_the_virtual_environment_alone(self) -> None:
        for command in ('sh', 'launch', './launchrun', self.python.name, ''):
            with self.subTest(command):
                self.assertIsNone(find_console_script(self.python, command, self.environment))
        self.assertIsNone(find_console_script(Path('/none/python'), 'launchrun', self.environment))


if __name__ == '__main__':
    unittest.main()
