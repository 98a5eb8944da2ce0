import math
import multiprocessing
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import List, Optional, Tuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from mlflow_store import Store, die_in_a_transaction, log_from_a_process
from vm_agent.metrics.program_metrics import MetricPaths, MetricSettings, ProgramMetrics
from vm_agent.metrics.sources.mlflow_copy import NAME
from vm_agent.metrics.sources.mlflow_database import SAMPLES_PER_READ_MAX, MlflowDatabase

RECORDINGS = Path(__file__).resolve().parent / 'mlflow'
MODES = ('DELETE', 'WAL')
MAIN = '1' * 32


class DatabaseTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.messages: List[str] = []
        self.use(Path(holder.name) / 'vm-1')

    def use(self, home: Path) -> None:
        """The disk of a VM."""
        self.home = home
        self.paths = MetricPaths(home)
        self.database = self.paths.mlflow_database
        for folder in (self.database.parent, self.paths.output):
            folder.mkdir(parents=True)

    def open(self, version: int = 3, mode: str = 'DELETE') -> Store:
        store = Store(self.database, str(self.paths.output), version, mode)
        self.addCleanup(store.close)
        return store

    def source(self) -> MlflowDatabase:
        source = MlflowDatabase(self.database, self.paths.output, True, self.log)
        source.start()
        return source

    def log(self, message: str, _severity: str) -> None:
        self.messages.append(message)

    def fork(self, target: object, *arguments: object) -> multiprocessing.Process:
        context = multiprocessing.get_context('spawn')
        process = context.Process(target=target, args=arguments)  # type: ignore[arg-type]
        process.start()
        return process  # type: ignore[return-value]


def series(source: MlflowDatabase, is_last: bool = False) -> List[Tuple[str, float, Optional[float]]]:
    return [(sample.series, sample.value, sample.step) for sample in source.read(is_last)]


class MetricsTest(DatabaseTest):
    def test_logged_metrics_are_samples_with_their_steps_and_times(self) -> None:
        source = self.source()
        self.assertEqual(series(source), [])
        store = self.open()
        run_id = store.start_run(MAIN, 'first')
        store.log(run_id, [('loss', 0.5, 10), ('acc', 0.9, 10)])
        samples = source.read(False)
        self.assertEqual([(one.series, one.value, one.step) for one in samples], [('loss', 0.5, 10), ('acc', 0.9, 10)])
        self.assertEqual([one.wall_time for one in samples], [1_000.001, 1_000.002])
        self.assertEqual(source.step, 10)
        self.assertEqual(series(source), [])

    def test_what_the_clients_of_mlflow_2_and_3_log_is_read(self) -> None:
        for version, recording in ((2, 'mlflow-2.17.jsonl'), (3, 'mlflow-3.6.jsonl')):
            with self.subTest(recording):
                self.use(self.home.with_name(recording))
                source = self.source()
                self.open(version).replay(RECORDINGS / recording)
                samples = series(source)
                names = [name for name, _, _ in samples]
                self.assertEqual([names.count(name) for name in ('loss', 'acc', 'nan', 'child/loss')], [3, 3, 3, 1])
                self.assertEqual([step for name, _, step in samples if name == 'loss'], [0, 1, 2])
                self.assertTrue(all(math.isnan(value) for name, value, _ in samples if name == 'nan'))

    def test_values_that_were_logged_without_a_step_are_counted(self) -> None:
        store, source = self.open(), self.source()
        run_id = store.start_run(MAIN, 'first')
        for value in (3.0, 2.0):
            store.log(run_id, [('loss', value, 0)])
        self.assertEqual(series(source), [('loss', 3.0, 0), ('loss', 2.0, 1)])
        store.log(run_id, [('loss', 1.0, 0)])
        self.assertEqual(series(source), [('loss', 1.0, 2)])

    def test_metrics_of_nested_and_further_runs_do_not_mix_with_those_of_the_first(self) -> None:
        store, source = self.open(), self.source()
        store.create_experiment('other', 1)
        main = store.start_run(MAIN, 'main')
        nested = [store.start_run(digit * 32, 'fold 1', {'mlflow.parentRunId': main}) for digit in '23']
        further = store.start_run('4' * 32, 'test', experiment=1)
        for run_id in (*nested, further, main):
            store.log(run_id, [('loss', 1.0, 5)])
        store.delete_run(further)
        self.assertEqual(
            [name for name, _, _ in series(source)], ['fold-1/loss', 'fold-1-2/loss', 'test/loss', 'loss']
        )

    def test_values_that_are_not_finite_arrive(self) -> None:
        store, source = self.open(), self.source()
        store.log(store.start_run(MAIN, 'first'), [('a', math.nan, 1), ('b', math.inf, 1), ('c', -math.inf, 1)])
        first, *others = [value for _, value, _ in series(source)]
        self.assertTrue(math.isnan(first))
        self.assertEqual(others, [math.inf, -math.inf])

    def test_many_rows_are_read_in_bounded_parts_without_a_loss(self) -> None:
        store, source = self.open(), self.source()
        run_id = store.start_run(MAIN, 'first')
        count = 5 * SAMPLES_PER_READ_MAX // 2
        with store.transaction() as connection:
            rows = (('loss', 1.0, number, run_id, number, 0) for number in range(1, count + 1))
            connection.executemany('INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)', rows)
        steps: List[Optional[float]] = []
        sizes = []
        while not sizes or source.is_behind:
            samples = source.read(False)
            sizes.append(len(samples))
            steps += [sample.step for sample in samples]
        self.assertEqual(sizes, [SAMPLES_PER_READ_MAX, SAMPLES_PER_READ_MAX, SAMPLES_PER_READ_MAX // 2])
        self.assertEqual(steps, list(range(1, count + 1)))

    def test_more_runs_than_are_told_apart_are_left_out_with_one_warning(self) -> None:
        store, source = self.open(), self.source()
        with store.transaction() as connection:
            rows = ((f'{number:032}', f'trial {number}') for number in range(3_000))
            connection.executemany('INSERT INTO runs (run_uuid, name) VALUES (?, ?)', rows)
        for number in (1, 2_999):
            store.log(f'{number:032}', [('loss', 1.0, 1)])
        self.assertEqual([name for name, _, _ in series(source)], ['trial-1/loss'])
        self.assertEqual(len([one for one in self.messages if 'more than 2000 runs' in one]), 1)

    def test_rows_that_were_deleted_for_good_do_not_hide_later_ones(self) -> None:
        store, source = self.open(), self.source()
        run_id = store.start_run(MAIN, 'first')
        store.log(run_id, [('loss', float(step), step) for step in range(10)])
        self.assertEqual(len(series(source)), 10)
        store.execute('DELETE FROM metrics')
        self.assertEqual(series(source), [])
        store.log(run_id, [('loss', 0.1, 11)])
        self.assertEqual(series(source), [('loss', 0.1, 11)])


class AttemptsTest(DatabaseTest):
    def test_the_next_attempt_reads_only_what_is_new_and_can_go_on_with_a_run(self) -> None:
        for mode in MODES:
            with self.subTest(mode):
                self.use(self.home.with_name(f'{mode}-1'))
                store, source = self.open(mode=mode), self.source()
                store.log(store.start_run(MAIN, 'main'), [('loss', 0.5, 7)])
                self.assertEqual(series(source, is_last=True), [('loss', 0.5, 7)])
                saved = (self.paths.output / NAME).read_bytes()
                self.use(self.home.with_name(f'{mode}-2'))
                (self.paths.output / NAME).write_bytes(saved)
                source = self.source()
                self.assertEqual(series(source), [])
                store = self.open()
                store.log(MAIN, [('loss', 0.4, 8)])
                store.log(store.start_run('2' * 32, 'second'), [('loss', 9.0, 1)])
                self.assertEqual(sorted(series(source)), [('loss', 0.4, 8), ('second/loss', 9.0, 1)])

    def test_after_a_reboot_no_sample_is_missing_or_twice(self) -> None:
        def boot() -> ProgramMetrics:
            metrics = ProgramMetrics(self.paths, None, MetricSettings('digits/1', log=self.log))
            metrics.on_sample.append(lambda sample: steps.append(sample.step))
            return metrics

        steps: List[Optional[float]] = []
        metrics = boot()
        metrics.start(1.0, False, 3_600.0)
        store = self.open()
        store.log(store.start_run(MAIN, 'main'), [('loss', 0.5, 1)])
        metrics.read()
        store.log(MAIN, [('loss', 0.4, 2)])
        metrics = boot()
        metrics.start(1.0, True, 3_600.0)
        store.log(MAIN, [('loss', 0.3, 3)])
        metrics.finish(False)
        self.assertEqual(steps, [1, 2, 3])
        self.assertEqual(metrics.progress().metrics['loss'], 0.3)


class WritersTest(DatabaseTest):
    def test_processes_log_at_the_same_time_while_the_agent_reads_and_copies(self) -> None:
        for mode in MODES:
            with self.subTest(mode):
                self.use(self.home.with_name(mode))
                source = MlflowDatabase(self.database, self.paths.output, True, self.log)
                store = self.open(mode=mode)
                store.start_run(MAIN, 'main')
                processes = [self.fork(log_from_a_process, str(self.database), number, 40) for number in range(4)]
                samples: List[Tuple[str, float, Optional[float]]] = []
                while any(process.is_alive() for process in processes):
                    source._copy._next_at = 0.0
                    samples += series(source)
                for process in processes:
                    process.join(60)
                samples += series(source)
                self.assertEqual([process.exitcode for process in processes], [0] * 4)
                expected = [(f'rank{number}', float(step), step) for number in range(4) for step in range(1, 41)]
                self.assertEqual(sorted(samples), expected)

    def test_a_writer_that_holds_the_lock_costs_a_read_and_no_sample(self) -> None:
        store, source = self.open(), self.source()
        store.log(store.start_run(MAIN, 'main'), [('loss', 0.5, 1)])
        store.execute('BEGIN EXCLUSIVE')
        began_at = time.monotonic()
        self.assertEqual(series(source), [])
        self.assertLess(time.monotonic() - began_at, 3)
        store.execute('COMMIT')
        self.assertEqual(series(source), [('loss', 0.5, 1)])
        self.assertEqual(self.messages, [])

    def test_a_program_that_is_killed_in_a_transaction_loses_only_that(self) -> None:
        for mode in MODES:
            with self.subTest(mode):
                self.use(self.home.with_name(mode))
                store, source = self.open(mode=mode), self.source()
                store.log(store.start_run(MAIN, 'main'), [('loss', 0.5, 1)])
                store.close()
                process = self.fork(die_in_a_transaction, str(self.database))
                process.join(60)
                journal = self.database.with_name(f'mlflow.db-{"wal" if mode == "WAL" else "journal"}')
                self.assertGreater(journal.stat().st_size, 0)
                self.assertEqual(series(source, is_last=True), [('loss', 0.5, 1)])
                self.assertEqual(os.listdir(self.paths.output), [NAME])
                copy = Store(self.paths.output / NAME)
                self.addCleanup(copy.close)
                self.assertEqual(copy.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
                self.assertEqual(copy.execute('SELECT value FROM metrics').fetchall(), [(0.5,)])
        self.assertEqual(self.messages, [])


if __name__ == '__main__':
    unittest.main()
