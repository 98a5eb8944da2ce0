"""Files that a program can put in the place of MLflow's database."""

import json
import os
import sys
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from mlflow_store import Store, die_in_a_transaction
from test_mlflow_database import MAIN, DatabaseTest, series
from vm_agent.metrics import program_metrics
from vm_agent.metrics.program_metrics import MetricSettings, ProgramMetrics
from vm_agent.metrics.sources import foreign_database
from vm_agent.metrics.sources.foreign_database import JOURNAL_MAGIC
from vm_agent.metrics.sources.mlflow_copy import NAME
from vm_agent.metrics.sources.mlflow_database import MlflowDatabase


class HostileProgramTest(DatabaseTest):
    """A program in a container reaches fewer files than the agent."""

    def setUp(self) -> None:
        super().setUp()
        self.outside = self.home / 'outside.db'
        private = Store(self.outside)
        private.log(private.start_run(MAIN, 'private'), [('secret', 1.0, 1)])
        private.close()

    def test_links_and_pipes_in_the_place_of_the_database_are_not_opened(self) -> None:
        for suffix in ('', '-journal', '-wal', '-shm'):
            for put in (lambda path: path.symlink_to(self.outside), os.mkfifo):
                with self.subTest(f'{suffix} {put}'):
                    self.use(self.home.with_name(f'{suffix}{put is os.mkfifo}'))
                    source = self.source()
                    if suffix != '':
                        self.open().close()
                    put(self.database.with_name(f'mlflow.db{suffix}'))
                    self.assertEqual(series(source, is_last=True), [])
                    self.assertFalse(any(b'private' in path.read_bytes() for path in self.paths.output.iterdir()))

    def test_a_link_that_is_put_there_while_the_agent_opens_it_is_not_followed(self) -> None:
        source = self.source()
        stop = threading.Event()

        def exchange() -> None:
            part = self.database.with_name('part')
            while not stop.is_set():
                part.symlink_to(self.outside)
                os.replace(part, self.database)
                part.write_bytes(b'')
                os.replace(part, self.database)

        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for _ in range(300):
                self.assertEqual(series(source), [])
        finally:
            stop.set()
            thread.join()

    def test_a_journal_cannot_have_files_of_the_agent_deleted(self) -> None:
        store, source = self.open(), self.source()
        store.start_run(MAIN, 'main')
        store.close()
        self.fork(die_in_a_transaction, str(self.database)).join(60)
        name = str(self.outside).encode()
        total = sum(name).to_bytes(4, 'big')
        with open(f'{self.database}-journal', 'ab') as journal:
            journal.write(name + len(name).to_bytes(4, 'big') + total + JOURNAL_MAGIC)
        self.assertEqual(series(source, is_last=True), [])
        self.assertTrue(self.outside.exists())
        self.assertIn('its journal names other files', self.messages[0])

    def test_a_query_that_never_ends_is_abandoned(self) -> None:
        store, source = self.open(), self.source()
        store.execute('ALTER TABLE metrics RENAME TO kept')
        store.execute(
            'CREATE VIEW metrics AS WITH RECURSIVE n(rowid) AS (SELECT 1 UNION ALL SELECT rowid + 1 FROM n) '
            "SELECT rowid, 'loss' AS key, 1 AS value, 1 AS timestamp, 1 AS step, 0 AS is_nan, '1' AS run_uuid FROM n"
        )
        began_at = time.monotonic()
        self.assertEqual(series(source), [])
        self.assertLess(time.monotonic() - began_at, 10)

    def show_as_metrics(self, store: Store, **columns: str) -> None:
        """Puts a view of 20,000 rows in the place of the table."""
        shown = {'key': "'loss'", 'value': '1', 'timestamp': '1', 'step': '1', 'is_nan': '0', 'run_uuid': "'1'"}
        selected = ', '.join(f'{value} AS {name}' for name, value in {**shown, **columns}.items())
        store.execute('ALTER TABLE metrics RENAME TO kept')
        store.execute(
            'CREATE VIEW metrics AS WITH RECURSIVE n(rowid) AS (SELECT 1 UNION ALL SELECT rowid + 1 FROM n LIMIT 20000) '
            f'SELECT rowid, {selected} FROM n'
        )

    def test_rows_that_take_long_each_are_abandoned(self) -> None:
        store, source = self.open(), self.source()
        self.show_as_metrics(store, key="printf('%.5000000d', rowid)")
        began_at = time.monotonic()
        self.assertEqual(series(source), [])
        self.assertLess(time.monotonic() - began_at, 10)

    def test_a_value_that_takes_much_memory_is_not_read(self) -> None:
        store, source = self.open(), self.source()
        self.show_as_metrics(store, key='zeroblob(600000000)')
        self.assertEqual(series(source), [])
        self.assertEqual(series(source, is_last=True), [])
        self.assertIn('memory', self.messages[0])

    def test_columns_in_the_place_of_row_numbers_do_not_end_the_copying(self) -> None:
        store, source = self.open(), self.source()
        run_id = store.start_run(MAIN, 'main')
        store.execute('ALTER TABLE metrics RENAME TO kept')
        store.execute('CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan, rowid)')
        store.execute("INSERT INTO metrics VALUES (NULL, 1, 1, ?, 1, 0, 'text')", (run_id,))
        source.read(False)
        self.assertEqual(os.listdir(self.paths.output), [NAME])

    def test_what_does_not_fit_on_the_disk_is_not_recovered(self) -> None:
        store, source = self.open(), self.source()
        store.start_run(MAIN, 'main')
        store.close()
        self.fork(die_in_a_transaction, str(self.database)).join(60)
        # A hole: the file takes no space, and its copy would.
        os.truncate(f'{self.database}-journal', 1 << 40)
        with mock.patch.object(foreign_database, 'FREE_BYTES_MIN', 1 << 39):
            self.assertEqual(series(source, is_last=True), [])
        self.assertIn('the disk of the VM has', self.messages[0])
        self.assertEqual([name for name in os.listdir(self.home) if name.startswith('recovered')], [])

    def test_the_output_is_saved_though_reading_the_last_metrics_does_not_end(self) -> None:
        metrics = ProgramMetrics(self.paths, None, MetricSettings(log=self.log))
        metrics.start(1.0, False, 3_600.0)
        is_over = threading.Event()

        def end_reading() -> None:
            is_over.set()
            for thread in threading.enumerate():
                if thread.name == 'last metrics':
                    thread.join()

        self.addCleanup(end_reading)
        began_at = time.monotonic()
        with mock.patch.object(program_metrics, 'FINISH_HURRIED_SECONDS_MAX', 0.2):
            with mock.patch.object(MlflowDatabase, 'read', lambda _self, _is_last: is_over.wait(30) and []):
                metrics.finish(True)
        self.assertLess(time.monotonic() - began_at, 20)
        self.assertIn('still being read', self.messages[0])

    def test_a_file_that_is_no_database_is_reported_at_the_end(self) -> None:
        for content in (b'', b'SQLite format 3\0' + b'\xff' * 5_000, b'text'):
            with self.subTest(content[:20]):
                self.use(self.home.with_name(f'{len(content)}'))
                source = self.source()
                self.database.write_bytes(content)
                self.messages.clear()
                self.assertEqual(series(source), [])
                self.assertEqual(self.messages, [])
                self.assertEqual(series(source, is_last=True), [])
                self.assertEqual(len(self.messages), 1)

    def test_values_of_other_types_do_not_end_the_reading(self) -> None:
        store, source = self.open(), self.source()
        run_id = store.start_run(MAIN, 'main')
        store.execute('ALTER TABLE metrics RENAME TO kept')
        store.execute('CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan)')
        store.execute("INSERT INTO metrics VALUES (5, 'text', NULL, ?, 'x', 0)", (run_id,))
        store.execute("INSERT INTO metrics VALUES (CAST(x'ff' AS TEXT), 1, 1, ?, 2, 0)", (run_id,))
        self.assertEqual([(value, step) for _, value, step in series(source)], [(0.0, 0.0), (1.0, 2.0)])
        self.assertTrue(json.dumps(source.to_json()))


if __name__ == '__main__':
    unittest.main()
