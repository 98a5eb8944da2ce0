import json
import math
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from event_files import scalar_file
from fake_storage import FakeStorage
from vm_agent.metrics.program_metrics import MetricPaths, MetricSettings, ProgramMetrics
from vm_agent.metrics.samples.measurements import BYTES_MAX, COUNT_MAX, Measurement, Measurements
from vm_agent.metrics.samples.progress import NonFinite, Progress
from vm_agent.metrics.samples.records import Sample, parse_record
from vm_agent.metrics.sources.bucket_events import BucketEvents
from vm_agent.metrics.sources.hypertune_file import HypertuneFile
from vm_agent.metrics.sources.output_metrics import LINE_COUNT_MAX, OutputMetrics
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.client import Author


def hypertune_line(tag: str, value: str, step: int = 0, timestamp: float = 1.5) -> str:
    """A line as cloudml-hypertune writes it."""
    body = {'timestamp': timestamp, 'trial': '7', tag: value, 'global_step': str(step), 'checkpoint_path': ''}
    return json.dumps(body, sort_keys=True) + '\n'


class MetricsTest(unittest.TestCase):
    """Metrics of a program whose files lie in a folder."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.server = FakeStorage()
        self.addCleanup(self.server.close)
        self.storage = self.server.connect()
        self.paths = MetricPaths(Path(holder.name))
        self.paths.hypertune_file.parent.mkdir(parents=True)
        self.paths.output.mkdir()
        self.started_at = time.time() - 10.0

    def create(self, metric_ids: Optional[List[str]] = None, attempt: int = 1) -> ProgramMetrics:
        """The metrics of a trial with these metrics; of an ordinary job without them."""
        if metric_ids is None:
            return ProgramMetrics(self.paths)
        directory = JobDirectory(self.storage, 'gs://jobs/digits/7', Author('digits_trial_7', attempt))
        bucket_events = BucketEvents(directory)
        return ProgramMetrics(self.paths, None, MetricSettings(f'digits/{attempt}', metric_ids, bucket_events))

    def start(self, metric_ids: Optional[List[str]] = None) -> ProgramMetrics:
        metrics = self.create(metric_ids)
        metrics.start(self.started_at, False, 3_600.0)
        return metrics

    def write_events(self, name: str, data: bytes) -> None:
        path = self.paths.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def points(batch: Tuple[Measurement, ...]) -> List[Tuple[float, Dict[str, Any]]]:
    return [(one.step, dict(one.values)) for one in batch]


class ProgressTest(MetricsTest):
    def read(self, text: str) -> Progress:
        self.paths.metrics_file.write_text(text)
        return self.start().read()

    def test_reads_appended_lines_and_ignores_invalid_ones(self) -> None:
        metrics = self.start()
        self.assertEqual(metrics.read(), Progress(step=None, steps_max=None, metrics={}))
        lines = b'{"step": 1, "steps": 10, "loss": 0.5}\nnonsense\n\xff\n[1]\n{"step": 2, "lo'
        self.paths.metrics_file.write_bytes(lines)
        self.assertEqual(metrics.read(), Progress(step=1, steps_max=10, metrics={'loss': 0.5}))
        with open(self.paths.metrics_file, 'ab') as file:
            file.write(b'ss": 0.25, "name": "x", "flag": true}\n')
        self.assertEqual(metrics.read(), Progress(step=2, steps_max=10, metrics={'loss': 0.25}))

    def test_keeps_the_first_value_that_is_not_finite_and_never_a_number_from_before_it(self) -> None:
        progress = self.read(
            '{"step": 1, "loss": 0.5, "accuracy": 0.9, "norm": 2}\n'
            '{"step": 2, "loss": NaN, "norm": 1e999, "gain": "-inf"}\n'
            '{"step": 3, "loss": "nan", "norm": 3, "huge": ' + '9' * 400 + '}\n'
            '{"step": NaN}\n'
        )
        self.assertEqual((progress.step, progress.metrics), (3, {'accuracy': 0.9, 'norm': 3}))
        self.assertEqual(
            progress.to_json()['nonFinite'],
            {
                'loss': {'value': 'NaN', 'step': 2},
                'norm': {'value': 'Infinity', 'step': 2},
                'gain': {'value': '-Infinity', 'step': 2},
                'huge': {'value': 'Infinity', 'step': 3},
            },
        )
        json.dumps(progress.to_json(), allow_nan=False)

    def test_limits_the_number_and_the_names_of_metrics(self) -> None:
        progress = self.read(''.join(f'{{"m{number}": {"NaN" if number % 2 else 1}}}\n' for number in range(1_000)))
        self.assertEqual((len(progress.metrics), len(progress.non_finite)), (32, 32))
        progress = self.read(''.join(json.dumps({'\u00e4' * 200 + str(number): 1}) + '\n' for number in range(64)))
        self.assertLess(len(json.dumps(progress.to_json())), 10_000)

    def test_reports_nan_of_hypertune(self) -> None:
        self.paths.hypertune_file.write_text(hypertune_line('loss', 'nan', 7))
        self.assertEqual(self.start().read().non_finite, {'loss': NonFinite('NaN', 7.0)})

    def test_has_all_metrics_of_an_ordinary_job_but_no_measurements(self) -> None:
        self.paths.hypertune_file.write_text(hypertune_line('loss', '0.5', 1) + hypertune_line('accuracy', '0.75', 2))
        metrics = self.start()
        self.write_events('logs/events.out.tfevents.1', scalar_file('epoch_loss', [0.25]))
        metrics.add_output('stdout', b'{"printed": 1}\n')
        self.assertEqual(metrics.read(), Progress(2.0, None, {'loss': 0.5, 'accuracy': 0.75, 'epoch_loss': 0.25}))
        self.assertEqual(metrics.batch(), ())

    def test_accepts_numbers_only(self) -> None:
        self.assertEqual(parse_record(b'{"a": true, "b": null, "c": "x", "d": "2", "e": [1]}'), {'d': 2.0})
        self.assertEqual(parse_record(b'[' * 100_000), {})


class HypertuneTest(MetricsTest):
    def setUp(self) -> None:
        super().setUp()
        self.file = HypertuneFile(self.paths.hypertune_file)

    def read(self, text: str) -> List[Sample]:
        self.paths.hypertune_file.write_text(text)
        return self.file.read()

    def test_reads_all_lines_and_all_tags_and_goes_on_after_the_last(self) -> None:
        first = hypertune_line('loss', '0.5', 1, 1.0) + hypertune_line('accuracy', '0.75', 1, 2.0)
        self.assertEqual(self.read(first), [Sample('loss', 0.5, 1, 1.0), Sample('accuracy', 0.75, 1, 2.0)])
        self.assertEqual(self.read(first + hypertune_line('loss', '0.25', 2, 3.0)), [Sample('loss', 0.25, 2, 3.0)])

    def test_reads_each_line_once_while_the_file_is_rewritten_and_its_first_lines_go(self) -> None:
        lines = [hypertune_line('loss', str(step), step, float(step)) for step in range(1, 300)]
        seen: List[float] = []
        for count in range(1, len(lines) + 1, 7):
            text = ''.join(lines[max(0, count - 100) : count])
            for cut in (0, len(text) // 3, len(text) - 20, len(text)):
                seen += [sample.value for sample in self.read(text[:cut])]
        self.assertEqual(seen, [float(step) for step in range(1, 296)])

    def test_reads_the_end_of_a_file_of_any_length_once(self) -> None:
        text = ''.join(hypertune_line('loss', '0.5', step, float(step)) for step in range(20_000))
        self.assertEqual(self.read(text)[-1].step, 19_999)
        self.assertEqual(self.read(text), [])
        self.assertEqual([one.step for one in self.read(text + hypertune_line('loss', '1', 20_000))], [20_000])

    def test_counts_reports_without_a_step(self) -> None:
        samples = self.read(''.join(hypertune_line('loss', '0.5', 0, float(at)) for at in range(3)))
        self.assertEqual([sample.step for sample in samples], [0, 1, 2])
        samples = self.read(hypertune_line('top', '0.5', 20, 4.0) + hypertune_line('top', '0.6', 0, 5.0))
        self.assertEqual([sample.step for sample in samples], [20, 20])

    def test_takes_no_part_of_a_line_and_no_step_that_is_not_finite(self) -> None:
        line = hypertune_line('loss', '0.5', 1)
        for cut in range(len(line) - 1):
            self.assertEqual(self.read(line[:cut]), [], cut)
        (sample,) = self.read('{"loss": 0.5, "global_step": "nan"}')
        self.assertEqual(sample.step, 0)


class OutputTest(unittest.TestCase):
    def test_reads_lines_that_are_one_object(self) -> None:
        output = OutputMetrics()
        output.add(b'epoch 1\n{"epoch": 1, "loss": 0.5}\r\n  {"loss": "nan"}\nloss {"loss": 3}\n{"loss": 4} done\n{"a":\n')
        read = output.read()
        self.assertEqual(read[0], Sample('loss', 0.5, 1))
        self.assertTrue(math.isnan(read[1].value) and read[1].step == 1 and len(read) == 2)

    def test_costs_little_however_much_is_printed(self) -> None:
        output = OutputMetrics()
        block = b'{"loss": 0.5}\n' * 75_000
        began = time.process_time()
        for _ in range(100):
            output.add(block)
        # 105 MB, of which the pump forwards several hundred a second.
        self.assertLess(time.process_time() - began, 1.0)
        self.assertEqual(len(output.read()), LINE_COUNT_MAX)


class MeasurementsTest(unittest.TestCase):
    def test_are_repeated_until_they_are_removed(self) -> None:
        waiting = Measurements(['loss'])
        waiting.add('loss', 0.5, (1, 100))
        first = waiting.batch()
        self.assertEqual(first, (Measurement(1, 100, {'loss': 0.5}),))
        waiting.add('loss', math.nan, (2, 200))
        self.assertEqual(points(waiting.batch()), [(1, {'loss': 0.5}), (2, {'loss': 'NaN'})])
        waiting.remove(first)
        self.assertEqual(points(waiting.batch()), [(2, {'loss': 'NaN'})])
        waiting.remove(waiting.batch())
        self.assertEqual(waiting.batch(), ())

    def test_a_step_that_has_changed_since_is_sent_again(self) -> None:
        waiting = Measurements(['loss', 'accuracy'])
        waiting.add('loss', 0.5, (1, 100))
        sent = waiting.batch()
        waiting.add('accuracy', 0.75, (1, 150))
        waiting.remove(sent)
        self.assertEqual(points(waiting.batch()), [(1, {'loss': 0.5, 'accuracy': 0.75})])

    def test_are_thinned_out_but_for_the_last_and_the_extremes(self) -> None:
        waiting = Measurements(['loss'])
        for step in range(100_000):
            waiting.add('loss', {333: -1.0, 40_001: 9.0}.get(step, 0.5), (step, step))
        sent = dict(points(waiting.batch()))
        self.assertLessEqual(len(sent), COUNT_MAX)
        self.assertGreater(len(sent), COUNT_MAX // 3)
        self.assertTrue({333, 40_001, 99_999} <= set(sent), sorted(sent))

    def test_fit_into_a_heartbeat_with_many_metrics_of_long_names(self) -> None:
        names = [f'{number:02}' + '\u00e4' * 126 for number in range(8)]
        waiting = Measurements(names)
        for step in range(200):
            for name in names:
                waiting.add(name, step / 7, (step, step))
        batch = waiting.batch()
        self.assertLess(len(json.dumps([one.to_json() for one in batch])), 2 * BYTES_MAX)
        self.assertEqual(batch[-1].step, 199)

    def test_have_only_the_metrics_of_the_study(self) -> None:
        waiting = Measurements(['loss', 'n' * 129])
        waiting.add('other', 1.0, (1, 1))
        waiting.add('n' * 129, 1.0, (1, 1))
        self.assertEqual(waiting.batch(), ())


class SourcesTest(MetricsTest):
    def test_a_metric_is_taken_from_the_first_source_that_has_it(self) -> None:
        metrics = self.start(['a', 'b', 'c', 'd'])
        self.paths.hypertune_file.write_text(hypertune_line('a', '1', 5))
        self.paths.metrics_file.write_text('{"step": 5, "a": 2, "b": 2}\n')
        self.write_events('events.out.tfevents.1', scalar_file('a', [3.0], 5) + scalar_file('b', [3.0], 5))
        self.write_events('events.out.tfevents.2', scalar_file('c', [3.0], 5))
        metrics.add_output('stdout', b'{"step": 5, "a": 4, "b": 4, "c": 4, "d": 4}\n')
        metrics.add_output('stderr', b'{"step": 6, "d": 5}\n')
        metrics.read()
        self.assertEqual(points(metrics.batch()), [(5, {'a': 1.0, 'b': 2, 'c': 3.0, 'd': 4})])

    def test_reports_that_have_no_step_are_counted(self) -> None:
        metrics = self.start(['loss'])
        metrics.add_output('stdout', b'{"loss": 0.5}\n{"loss": 0.25}\n')
        metrics.read()
        self.assertEqual(points(metrics.batch()), [(1, {'loss': 0.5}), (2, {'loss': 0.25})])

    def test_the_running_time_is_that_of_the_report_if_it_says_when_it_was_made(self) -> None:
        metrics = self.start(['loss', 'accuracy'])
        self.write_events('events.out.tfevents.1', scalar_file('loss', [0.5, 0.25], 1, self.started_at + 2.0))
        self.paths.hypertune_file.write_text(hypertune_line('accuracy', '0.5', 9, 1e300))
        metrics.read()
        times = {one.step: one.elapsed_ms for one in metrics.batch()}
        self.assertAlmostEqual(times[1], 2_000, delta=2)
        self.assertAlmostEqual(times[2], 3_000, delta=2)
        self.assertTrue(10_000 <= times[9] <= math.ceil(1_000 * (time.time() - self.started_at)), times)

    def test_tensorflow_s_own_objects_are_read_before_the_end_is_reported(self) -> None:
        metrics = self.start(['loss'])
        data = scalar_file('loss', [0.5], 3, self.started_at + 1.0)
        self.server.put('digits/7/logs/events.out.tfevents.1', data, 1)
        metrics.finish(is_hurried=False)
        self.assertEqual(points(metrics.batch()), [(3, {'loss': 0.5})])

    def test_the_bucket_is_not_listed_for_metrics_that_are_known_nor_in_a_hurry(self) -> None:
        metrics = self.start(['loss'])
        metrics.finish(is_hurried=True)
        self.paths.hypertune_file.write_text(hypertune_line('loss', '0.5', 1))
        metrics.read()
        metrics.finish(is_hurried=False)
        self.assertEqual(self.server.received, [])

    def test_what_was_restored_from_earlier_attempts_is_not_reported_again(self) -> None:
        self.write_events('events.out.tfevents.1', scalar_file('loss', [0.5]))
        metrics = self.create(['loss'])
        metrics.read()
        metrics.start(self.started_at, False, 3_600.0)
        metrics.read()
        self.assertEqual(metrics.batch(), ())
        self.write_events('events.out.tfevents.2', scalar_file('loss', [0.25], 2))
        metrics.read()
        self.assertEqual(points(metrics.batch()), [(2, {'loss': 0.25})])

    def test_hostile_reports_never_break_a_heartbeat(self) -> None:
        metrics = self.start(['loss'])
        big = '9' * 400
        self.paths.metrics_file.write_text(f'{{"step": {big}, "loss": {big}}}\n{{"step": -1e308, "loss": 1e400}}\n')
        lines = [f'{{"global_step": "{step}", "timestamp": "{step}", "loss": "{step}"}}' for step in ('nan', '-inf', big)]
        self.paths.hypertune_file.write_text('\n'.join(lines))
        self.write_events('events.out.tfevents.1', scalar_file('loss', [math.nan], -(1 << 62), math.nan))
        progress = metrics.read()
        json.dumps([progress.to_json(), [one.to_json() for one in metrics.batch()]], allow_nan=False)


class PrintedTest(MetricsTest):
    """Metrics that the program prints, and event files that it writes to any folder of its working directory."""

    def start_with(self, reads_output: Optional[bool], metric_ids: Optional[List[str]] = None) -> ProgramMetrics:
        metrics = ProgramMetrics(self.paths, None, MetricSettings(metric_ids=metric_ids, reads_output=reads_output))
        self.received: List[str] = []
        metrics.on_sample.append(lambda sample: self.received.append(sample.name))
        metrics.start(self.started_at, False, 3_600.0)
        return metrics

    def test_by_default_losses_and_scores_are_metrics_that_are_marked(self) -> None:
        metrics = self.start_with(None)
        metrics.add_output('stdout', b'step 1 loss: 0.5 temperature: 0.3\n')
        metrics.add_output('agent', b'step 9 loss: 9\n')
        self.assertEqual(metrics.read(), Progress(step=1, steps_max=None, metrics={'log/loss': 0.5}))

    def test_what_is_reported_otherwise_is_not_taken_from_the_log_whatever_its_name(self) -> None:
        metrics = self.start_with(None)
        self.paths.metrics_file.write_text('{"step": 1, "train/loss": 0.5}\n')
        metrics.add_output('stdout', b'step 1 loss: 0.5 val_loss: 0.7\n')
        self.assertEqual(set(metrics.read().metrics), {'train/loss', 'log/val_loss'})

    def test_the_metric_of_a_tuning_is_taken_from_the_log_only_if_the_job_asks_for_it(self) -> None:
        for reads_output, expected in ((None, []), (True, [(1, {'loss': 0.5})])):
            metrics = self.start_with(reads_output, ['loss'])
            metrics.add_output('stdout', b'step 1 loss: 0.5\n')
            metrics.read()
            self.assertEqual(points(metrics.batch()), expected)

    def test_what_the_job_does_not_want_to_be_kept_is_still_looked_at(self) -> None:
        metrics = self.start_with(False)
        metrics.add_output('stdout', b'step 1 loss: nan\n')
        self.assertEqual((metrics.read().metrics, self.received), ({}, ['log/loss']))

    def test_event_files_below_the_working_directory_are_read_but_for_those_that_the_package_has(self) -> None:
        runs = self.paths.state.parent / 'work' / 'lightning_logs' / 'version_0'
        runs.mkdir(parents=True)
        (runs / 'events.out.tfevents.1').write_bytes(scalar_file('loss', [9.0]))
        metrics = self.create()
        metrics.read_below(runs.parents[1])
        metrics.start(self.started_at, False, 3_600.0)
        (runs / 'events.out.tfevents.2').write_bytes(scalar_file('loss', [0.5]))
        self.assertEqual(metrics.read().metrics, {'loss': 0.5})


class RebootTest(MetricsTest):
    def test_what_was_not_answered_is_sent_again_and_nothing_else(self) -> None:
        metrics = self.start(['loss', 'accuracy'])
        self.paths.hypertune_file.write_text(hypertune_line('loss', '0.5'))
        self.write_events('events.out.tfevents.1', scalar_file('accuracy', [0.5]))
        metrics.read()
        metrics.remove(metrics.batch())
        metrics.add_output('stdout', b'{"accuracy": 1}\n')
        self.paths.hypertune_file.write_text(hypertune_line('loss', '0.5') + hypertune_line('loss', '0.25', 0, 2.5))
        metrics.read()
        again = self.create(['loss', 'accuracy'])
        again.start(self.started_at, True, 3_600.0)
        progress = again.read()
        self.assertEqual(points(again.batch()), [(1, {'loss': 0.25})])
        self.assertEqual(progress.metrics, {'loss': 0.25, 'accuracy': 0.5})

    def test_a_program_that_had_ended_is_reported_with_its_last_metrics(self) -> None:
        self.start(['loss']).add_output('stdout', b'')
        metrics = self.start(['loss'])
        metrics.add_output('stdout', b'{"loss": 0.5}\n')
        metrics.finish(is_hurried=False)
        again = self.create(['loss'])
        again.resume(self.started_at)
        self.assertEqual(points(again.batch()), [(1, {'loss': 0.5})])

    def test_a_damaged_state_or_that_of_another_attempt_is_not_used(self) -> None:
        metrics = self.start(['loss'])
        metrics.add_output('stdout', b'{"loss": 0.5}\n')
        metrics.read()
        state = self.paths.state.read_text()
        for text, attempt in ((state[:-9], 1), ('{"attempt": "digits/1"}', 1), ('[]', 1), (state, 2)):
            self.paths.state.write_text(text)
            again = self.create(['loss'], attempt)
            again.start(self.started_at, True, 3_600.0)
            self.assertEqual(again.batch(), (), text)

    def test_a_state_that_cannot_be_written_keeps_nothing_from_being_reported(self) -> None:
        os.mkdir(self.paths.state)
        metrics = self.start(['loss'])
        metrics.add_output('stdout', b'{"loss": 0.5}\n')
        metrics.read()
        self.assertEqual(points(metrics.batch()), [(1, {'loss': 0.5})])


if __name__ == '__main__':
    unittest.main()
