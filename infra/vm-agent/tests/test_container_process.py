import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from test_invocation import INVOCATION
from vm_agent.container.engine import Engine
from vm_agent.container.process import ContainerProcess
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ExitReport, ReplicaEnded

# Has one container, from `create` to `rm`.
SCRIPT = """#!/bin/sh
cd "$STATE"
echo "$1" >> commands
case "$1" in
  create) : > container ;;
  ps) [ ! -e container ] || echo c1 ;;
  rm) /bin/rm container ;;
esac
"""


class ContainerProcessTest(unittest.TestCase):
    """With an executable called docker on the PATH."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / 'docker').write_text(SCRIPT)
        (self.folder / 'docker').chmod(0o755)

    def stop_once_created(self) -> None:
        if (self.folder / 'container').exists():
            raise ReplicaEnded(ExitReport('STOPPED', 'The job was cancelled.'))

    def test_a_stop_during_the_creation_starts_no_program_and_leaves_no_container(self) -> None:
        engine = Engine('docker', '28', {'PATH': str(self.folder), 'STATE': str(self.folder)})
        with self.assertRaises(ReplicaEnded) as ended:
            ContainerProcess(
                engine,
                INVOCATION,
                Mask(),
                on_output=lambda _stream, _block: None,
                on_exit=lambda: None,
                check=self.stop_once_created,
            )
        self.assertEqual(ended.exception.report.reason, 'STOPPED')
        self.assertNotIn('start', (self.folder / 'commands').read_text().split())
        self.assertFalse((self.folder / 'container').exists())


if __name__ == '__main__':
    unittest.main()
