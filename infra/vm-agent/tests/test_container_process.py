import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from test_invocation import INVOCATION
from vm_agent.container.engine import Engine
from vm_agent.container.process import ContainerProcess
from vm_agent.logs.mask import Mask
from vm_agent.program.exit_report import ExitReport, ReplicaEnded

# Has one container, from `create` to `rm`. HANGS names a command that does not end, FAILS one that
# fails. With SLOW, the engine creates the container after a second, whatever becomes of the command.
# `hanging` is written before `commands`: once a command is listed there, a stop may end it.
SCRIPT = """#!/bin/sh
pwd >> "$STATE/folders"
cd "$STATE"
[ "$1" != "$HANGS" ] || echo $$ > hanging
echo "$1" >> commands
[ "$1" != "$FAILS" ] || { echo "cannot $1" >&2; exit 1; }
case "$1" in
  create)
    if [ -n "$SLOW" ]; then
      (/bin/sleep 1; : > container; : > created) & wait
    else
      : > container
    fi ;;
  ps) [ ! -e container ] || echo c1 ;;
  rm) /bin/rm -f container ;;
  container) echo '[{"State": {"StartedAt": "0001-01-01T00:00:00Z"}}]' ;;
esac
[ "$1" != "$HANGS" ] || exec /bin/sleep 600
"""


class ContainerProcessTest(unittest.TestCase):
    """With an executable called docker on the PATH."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / 'docker').write_text(SCRIPT)
        (self.folder / 'docker').chmod(0o755)

    def ended(self, stop_after: str = '', stopped_creation_seconds_max: float = 60.0, **behavior: str) -> ExitReport:
        """Starts a container; returns why it was not started. A stop is requested after a command has begun."""

        def check() -> None:
            if stop_after and stop_after in self.commands():
                raise ReplicaEnded(ExitReport('STOPPED', 'The job was cancelled.'))

        engine = Engine('28', {'PATH': str(self.folder), 'STATE': str(self.folder), **behavior}, folder=self.folder)
        begun_at = time.monotonic()
        with self.assertRaises(ReplicaEnded) as ended:
            ContainerProcess(
                engine,
                INVOCATION,
                Mask(),
                on_output=lambda _stream, _block: None,
                on_exit=lambda: None,
                check=check,
                stopped_creation_seconds_max=stopped_creation_seconds_max,
            )
        self.assertLess(time.monotonic() - begun_at, 10)
        self.assertFalse((self.folder / 'container').exists())
        return ended.exception.report

    def commands(self) -> List[str]:
        file = self.folder / 'commands'
        return file.read_text().split() if file.exists() else []

    def test_a_stop_during_the_creation_starts_no_program_and_leaves_no_container(self) -> None:
        self.assertEqual(self.ended('create').reason, 'STOPPED')
        self.assertNotIn('start', self.commands())

    def test_a_stop_removes_a_container_that_the_engine_creates_after_it(self) -> None:
        self.assertEqual(self.ended('create', SLOW='yes').reason, 'STOPPED')
        while not (self.folder / 'created').exists():
            time.sleep(0.01)
        self.assertFalse((self.folder / 'container').exists())
        self.assertNotIn('start', self.commands())

    def test_a_stop_ends_a_creation_and_a_start_that_hang(self) -> None:
        for command in ('create', 'start'):
            with self.subTest(command):
                self.assertEqual(self.ended(command, stopped_creation_seconds_max=1, HANGS=command).reason, 'STOPPED')
                pid = int((self.folder / 'hanging').read_text())
                self.assertRaises(ProcessLookupError, os.kill, pid, 0)
                (self.folder / 'hanging').unlink()
                (self.folder / 'commands').unlink()

    def test_a_stop_counts_more_than_a_failure_that_it_may_have_caused(self) -> None:
        for command in ('create', 'start'):
            with self.subTest(command):
                self.assertEqual(self.ended(command, FAILS=command).reason, 'STOPPED')
                self.assertEqual(self.ended(FAILS=command).evidence, (f'cannot {command}',))
                (self.folder / 'commands').unlink()

    def test_commands_run_in_the_folder_of_the_agent_where_the_monitor_of_podman_writes_a_file(self) -> None:
        self.ended(FAILS='start')
        self.assertEqual(set((self.folder / 'folders').read_text().splitlines()), {str(self.folder.resolve())})
        self.assertIn('start', self.commands())


if __name__ == '__main__':
    unittest.main()
