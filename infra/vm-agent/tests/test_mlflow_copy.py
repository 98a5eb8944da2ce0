import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import List, Tuple
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from mlflow_store import Store
from saving_agent import Commit, SavingAgent
from vm_agent.metrics.program_metrics import MetricPaths
from vm_agent.metrics.sources import foreign_database, mlflow_copy
from vm_agent.metrics.sources.mlflow_copy import NAME
from vm_agent.metrics.sources.mlflow_database import MlflowDatabase

PROGRAM = Path(__file__).resolve().parent / 'mlflow_store.py'
MAIN = '1' * 32
COMMITS_MIN = 4


def read_copy(database: Path) -> Tuple[List[int], List[int]]:
    """Returns the steps of both metrics. Raises AssertionError for a database that is not whole."""
    store = Store(database)
    try:
        assert store.execute('PRAGMA integrity_check').fetchall() == [('ok',)], database
        loss, acc = (
            [step for (step,) in store.execute('SELECT step FROM metrics WHERE key = ? ORDER BY step', (key,))]
            for key in ('loss', 'acc')
        )
        return loss, acc
    finally:
        store.close()


class CopyTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.paths = MetricPaths(self.home)
        self.database = self.paths.mlflow_database
        self.messages: List[str] = []
        for folder in (self.database.parent, self.paths.output):
            folder.mkdir()

    def source(self, saves_output: bool = True) -> MlflowDatabase:
        log = lambda message, _severity: self.messages.append(message)
        source = MlflowDatabase(self.database, self.paths.output, saves_output, log)
        source.start()
        return source

    def open(self) -> Store:
        store = Store(self.database, str(self.paths.output))
        self.addCleanup(store.close)
        store.start_run(MAIN, 'main')
        return store

    def test_the_copy_names_the_artifacts_beside_it(self) -> None:
        store, source = self.open(), self.source()
        store.execute("INSERT INTO experiments VALUES (1, 'x', 'gs://b/mlflow-artifacts/1', 'active', 1, 1)")
        store.execute("INSERT INTO logged_models VALUES ('m-1', 0, 'm', ?, 1, 1, 1, 'active', '', '', '')",
                      (f'{self.paths.output}/mlflow-artifacts/0/models/m-1/artifacts',))  # fmt: skip
        source.read(True)
        copy = Store(self.paths.output / NAME)
        self.addCleanup(copy.close)
        locations = [row[0] for table, column in mlflow_copy.LOCATIONS
                     for row in copy.execute(f'SELECT {column} FROM {table} ORDER BY 1')]  # fmt: skip
        self.assertEqual(
            locations,
            [
                'gs://b/mlflow-artifacts/1',
                'mlflow-artifacts/0',
                f'mlflow-artifacts/0/{MAIN}/artifacts',
                'mlflow-artifacts/0/models/m-1/artifacts',
            ],
        )
        self.assertEqual(
            store.execute('SELECT artifact_location FROM experiments WHERE experiment_id = 0').fetchone(),
            (f'{self.paths.output}/mlflow-artifacts/0',),
        )

    def test_a_program_without_mlflow_finds_its_output_directory_empty(self) -> None:
        source = self.source()
        source.read(False)
        source.read(True)
        self.assertEqual(os.listdir(self.paths.output), [])

    def test_only_a_database_that_has_changed_is_copied_again(self) -> None:
        store, source = self.open(), self.source()
        source.read(True)
        first = (self.paths.output / NAME).stat()
        source.read(True)
        self.assertEqual((self.paths.output / NAME).stat(), first)
        store.log(MAIN, [('loss', 0.5, 1)])
        source.read(False)
        self.assertEqual((self.paths.output / NAME).stat(), first, 'it is too young')
        source.read(True)
        self.assertNotEqual((self.paths.output / NAME).stat(), first)

    def test_a_replica_whose_output_is_not_saved_has_no_copy(self) -> None:
        store, source = self.open(), self.source(saves_output=False)
        store.log(MAIN, [('loss', 0.5, 1)])
        self.assertEqual(len(source.read(True)), 1)
        self.assertEqual(os.listdir(self.paths.output), [])

    def test_a_database_that_exceeds_the_disk_is_reported_at_the_end(self) -> None:
        self.open()
        source = self.source()
        with mock.patch.object(foreign_database, 'FREE_BYTES_MIN', 2**62):
            source.read(False)
            self.assertEqual(self.messages, [])
            source.read(True)
        self.assertIn('the disk of the VM has', self.messages[0])
        self.assertEqual(sorted(os.listdir(self.home)), ['metrics', 'output'])

    def test_a_folder_or_a_link_in_the_place_of_the_copy_is_not_followed(self) -> None:
        outside = self.home / 'outside'
        outside.write_text('private')
        (self.paths.output / NAME).symlink_to(outside)
        source = self.source()
        self.assertFalse(self.database.exists())
        self.open()
        source.read(True)
        self.assertEqual(outside.read_text(), 'private')
        self.assertFalse((self.paths.output / NAME).is_symlink())
        (self.paths.output / NAME).unlink()
        (self.paths.output / NAME).mkdir()
        source = self.source()
        source.read(True)
        self.assertEqual(len(self.messages), 2)


class SnapshotTest(unittest.TestCase):
    def test_every_snapshot_of_a_program_that_logs_all_the_time_has_a_whole_database(self) -> None:
        for mode in ('DELETE', 'WAL'):
            with self.subTest(mode), tempfile.TemporaryDirectory() as folder:
                self.check(Path(folder), mode)

    def check(self, home: Path, mode: str) -> None:
        agent = SavingAgent(home, 0.3)
        paths = MetricPaths(home)
        paths.mlflow_database.parent.mkdir()
        messages: List[str] = []
        source = MlflowDatabase(paths.mlflow_database, paths.output, True, lambda message, _: messages.append(message))
        source.start()
        argv = [sys.executable, str(PROGRAM), str(paths.mlflow_database), mode]
        stop, committed = threading.Event(), 0

        def saved() -> List[Commit]:
            return [commit for commit in agent.commits_before(time.time()) if commit.files]

        def follow() -> None:
            while not stop.wait(0.05):
                source.read(False)

        with mock.patch.object(mlflow_copy, 'COPY_SECONDS_MIN', 0.2):
            reader = threading.Thread(target=follow)
            reader.start()
            program = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
            assert program.stdout is not None
            for line in program.stdout:
                committed = int(line)
                if program.poll() is None and len(saved()) >= COMMITS_MIN:
                    program.kill()
            program.wait()
            program.stdout.close()
            stop.set()
            reader.join()
            source.read(True)
        agent.close()
        counts = []
        for number, commit in enumerate(saved()):
            self.assertEqual(set(commit.files), {NAME})
            database = home / f'restored-{number}.db'
            database.write_bytes(commit.files[NAME])
            loss, acc = read_copy(database)
            self.assertEqual(loss, acc)
            self.assertEqual(loss, list(range(1, len(loss) + 1)))
            counts.append(len(loss))
        self.assertEqual(counts, sorted(counts))
        # The step after the last one that was printed can be committed, too.
        self.assertIn(counts[-1], (committed, committed + 1))
        self.assertEqual(messages + agent.warnings, [])


if __name__ == '__main__':
    unittest.main()
