import gzip
import json
import math
import os
import sys
import tempfile
import time
import tracemalloc
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fake_storage import FakeStorage
from vm_agent.metrics.program_metrics import MetricPaths, MetricSettings, ProgramMetrics
from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.samples.sample_names import NAME_COUNT_MAX
from vm_agent.metrics.samples.sample_times import SampleTimes
from vm_agent.metrics.series import series_files, series_history
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.series_part import METRICS_KIND, SeriesOrigin
from vm_agent.metrics.series.series_upload import SeriesUpload
from vm_agent.metrics.series.thinned_series import Point, ThinnedSeries, stretch_seconds
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.client import Author

Curve = List[Tuple[float, Any]]


class ThinnedSeriesTest(unittest.TestCase):
    def keep(self, values: List[float], interval: float, seconds: float = 1.0) -> List[float]:
        series = ThinnedSeries()
        kept = [series.add(Point(step, step * interval, value), seconds) for step, value in enumerate(values)]
        return [point.value for points in [*kept, series.close()] for point in points]

    def test_keeps_every_report_of_up_to_four_a_stretch(self) -> None:
        values = [float(value) for value in (3, 1, 4, 1, 5, 9, 2, 6)]
        self.assertEqual(self.keep(values, 10.0), values)
        self.assertEqual(self.keep(values, 0.25), values)

    def test_keeps_first_last_lowest_and_highest_of_a_stretch_with_more(self) -> None:
        values = [0.5, 0.4, 9.0, 0.3, -7.0, 0.2, 0.1]
        self.assertEqual(self.keep(values, 0.01), [0.5, 9.0, -7.0, 0.1])
        kept = self.keep([math.sin(step) for step in range(10_000)], 0.001)
        self.assertTrue(30 <= len(kept) <= 40, len(kept))
        self.assertEqual((kept[0], kept[-1]), (0.0, math.sin(9_999)))

    def test_keeps_the_first_of_each_value_of_a_stretch_that_is_not_finite(self) -> None:
        kept = self.keep([1.0, 2.0, 3.0, math.inf, -math.inf, math.inf, math.nan, math.nan, math.inf, 5.0], 0.01)
        self.assertEqual([str(value) for value in kept], ['1.0', '2.0', 'inf', '-inf', 'nan', '5.0'])
        self.assertTrue(all(math.isnan(value) for value in self.keep([math.nan] * 50, 0.01)))

    def test_a_week_at_a_thousand_reports_a_second_is_some_hundred_thousand_points(self) -> None:
        kept, at = 0, 0.0
        while at < 7 * 86_400:
            seconds = stretch_seconds(kept, kept)
            at += seconds or 0.001
            kept += 4 if seconds else 1
        self.assertTrue(200_000 < kept < 400_000, kept)


class SampleTimesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 1_000.0
        clock = BootClock()
        clock.now = lambda: self.now  # type: ignore[method-assign]
        self.times = SampleTimes(clock)
        self.times.started_at = 900.0

    def read_at(self, now: float) -> None:
        self.now = now
        self.times.begin_round()

    def test_reports_without_a_time_were_made_since_the_last_read(self) -> None:
        self.read_at(1_010.0)
        self.assertEqual([self.times.of('a', None, part / 4) for part in (1, 2, 3, 4)], [1002.5, 1005, 1007.5, 1010])

    def test_never_go_back_into_the_future_or_before_the_start(self) -> None:
        self.read_at(1_010.0)
        given = [1_003.0, 1_002.0, 5_000.0, math.nan, 1e300, 3.0]
        times = [self.times.of('a', wall_time, 1.0) for wall_time in given]
        self.assertEqual(times, [1_003.0, 1_003.0, 1_010.0, 1_010.0, 1_010.0, 1_010.0])

    def test_a_clock_that_was_set_back_by_an_hour_does_not_stop_the_time(self) -> None:
        self.times.started_at = -9_000.0
        self.read_at(1_010.0)
        self.times.of('a', 1_009.0, 1.0)
        self.read_at(1_020.0)
        self.assertEqual(self.times.of('a', -2_580.0, 1.0), 1_020.0)


class HistoryTest(unittest.TestCase):
    """The metrics of a program whose files lie in a folder, and a bucket."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.server = FakeStorage()
        self.addCleanup(self.server.close)
        self.home = Path(holder.name)
        self.paths = MetricPaths(self.home)
        self.paths.metrics_file.parent.mkdir(parents=True)
        self.paths.output.mkdir()
        self.lines: List[str] = []
        self.boot(0)

    def keep_all(self) -> None:
        """Instead of four reports a second."""
        self.addCleanup(setattr, series_history, 'stretch_seconds', series_history.stretch_seconds)
        series_history.stretch_seconds = lambda *_: 0.0

    def boot(self, number: int, attempt: int = 1) -> None:
        """Starts an agent, after the one before was killed."""
        directory = JobDirectory(self.server.connect(), 'gs://jobs/digits', Author('digits', attempt))
        origin = SeriesOrigin(attempt, 'master-0', number)
        self.history = SeriesHistory(self.home / 'series', METRICS_KIND, origin, self.log)
        self.upload = SeriesUpload((self.history,), directory, self.log)
        settings = MetricSettings(f'digits/{attempt}', history=self.history, log=self.log)
        self.metrics = ProgramMetrics(self.paths, None, settings)
        self.metrics.start(time.time() - 10.0, number > 0, 3_600.0)

    def log(self, text: str, severity: str) -> None:
        self.lines.append(text)

    def report(self, *lines: str) -> None:
        with open(self.paths.metrics_file, 'a', encoding='utf-8') as file:
            file.write(''.join(f'{line}\n' for line in lines))

    def report_steps(self, start: int, end: int) -> None:
        self.report(*(json.dumps({'step': step, 'loss': step / 8}) for step in range(start, end)))

    def uploaded(self) -> Dict[str, List[Dict[str, Any]]]:
        """The lines of each part in the bucket."""
        prefix = 'digits/dropforge-metrics/digits/'
        return {
            name[len(prefix) :]: [json.loads(line) for line in gzip.decompress(stored.body).splitlines()]
            for name, stored in sorted(self.server.objects.items())
            if name.startswith(prefix)
        }

    def curve(self, name: str = 'loss') -> Curve:
        lines = [line for lines in self.uploaded().values() for line in lines if line.get('name') == name]
        return [pair for line in lines for pair in zip(line['steps'], line['values'])]

    def finish(self) -> None:
        self.metrics.finish(is_hurried=False)
        self.upload.finish(5.0)


STEPS: Curve = [(step, step / 8) for step in range(1, 31)]


class SeriesUploadTest(HistoryTest):
    def setUp(self) -> None:
        super().setUp()
        self.keep_all()

    def test_points_reach_the_bucket_at_the_next_upload_while_their_part_grows(self) -> None:
        for start in (1, 11, 21):
            for step in range(start, start + 10, 2):
                self.report_steps(step, step + 2)
                self.metrics.read()
            self.upload.finish(5.0)
            self.assertEqual(self.curve(), STEPS[: start + 9])
        self.assertEqual(list(self.uploaded()), ['attempt-1-master-0-boot-0000-000001.metrics.jsonl.gz'])

    def test_parts_are_closed_at_their_size_and_then_removed_from_the_disk(self) -> None:
        self.addCleanup(setattr, series_files, 'PART_BYTES_MAX', series_files.PART_BYTES_MAX)
        series_files.PART_BYTES_MAX = 100
        for step in range(1, 31):
            self.report_steps(step, step + 1)
            self.metrics.read()
            self.upload.finish(5.0)
        self.finish()
        self.assertEqual(self.curve(), STEPS)
        self.assertTrue(10 <= len(self.uploaded()) <= 20, len(self.uploaded()))
        self.assertEqual(len(list((self.home / 'series').iterdir())), 1)

    def test_nothing_is_sent_while_nothing_is_reported(self) -> None:
        self.report_steps(1, 3)
        self.metrics.read()
        self.upload.finish(5.0)
        received = len(self.server.received)
        self.metrics.read()
        self.upload.finish(5.0)
        self.assertEqual(len(self.server.received), received)

    def test_a_lost_answer_and_rejected_requests_leave_neither_gaps_nor_doubles(self) -> None:
        lost: List[str] = []

        def lose(received: Any) -> bool:
            lost.append(received.path)
            return received.method == 'POST' and len(lost) % 2 == 1

        self.server.lose_answer = lose
        for step in range(1, 31):
            self.report_steps(step, step + 1)
            self.metrics.read()
            if step % 10 == 0:
                self.upload.finish(5.0)
        self.finish()
        self.assertEqual(self.curve(), STEPS)

    def test_an_unreachable_bucket_is_said_once_and_loses_nothing(self) -> None:
        self.server.reject = lambda _: 403
        for step in range(1, 31, 10):
            self.report_steps(step, step + 10)
            self.metrics.read()
            self.upload.finish(0.1)
        self.assertEqual(len(self.lines), 1, self.lines)
        self.assertIn('Metrics could not be uploaded: Cloud Storage answered 403', self.lines[0])
        self.server.reject = lambda _: None
        self.finish()
        self.assertEqual(self.curve(), STEPS)


class SeriesRebootTest(HistoryTest):
    def setUp(self) -> None:
        super().setUp()
        self.keep_all()

    def test_a_killed_agent_goes_on_without_gaps_or_doubles_wherever_it_was(self) -> None:
        for boot, start in enumerate(range(1, 31, 5), 1):
            self.report_steps(start, start + 3)
            self.metrics.read()
            if boot % 2:
                self.upload.finish(5.0)
            self.report_steps(start + 3, start + 5)
            # Killed after the points were written, and before the state was.
            self.metrics._read_round(False)
            self.history.write(time.time() + 60.0, (0, 0))
            self.boot(boot)
        self.metrics.read()
        self.finish()
        self.assertEqual(sorted(self.curve()), STEPS)
        self.assertTrue(all('boot-000' in name for name in self.uploaded()))

    def test_the_parts_of_a_boot_before_are_uploaded_by_the_next(self) -> None:
        self.report_steps(1, 3)
        self.metrics.read()
        self.boot(1)
        self.upload.finish(5.0)
        self.assertEqual(self.curve(), STEPS[:2])

    def test_a_write_that_was_cut_is_repaired(self) -> None:
        self.report_steps(1, 2)
        self.metrics.read()
        (part,) = (self.home / 'series').iterdir()
        with open(part, 'ab') as file:
            file.write(b'{"name":"lo')
        self.report_steps(2, 3)
        self.boot(1)
        self.finish()
        self.assertEqual(self.curve(), STEPS[:2])

    def test_an_attempt_has_parts_of_its_own_and_continues_the_steps(self) -> None:
        self.report_steps(1, 4)
        self.metrics.read()
        self.finish()
        # Another VM.
        for file in [*(self.home / 'series').iterdir(), self.paths.metrics_file, self.paths.state]:
            file.unlink()
        self.boot(0, attempt=2)
        self.report_steps(3, 6)
        self.finish()
        parts = self.uploaded()
        self.assertEqual([name[:9] for name in parts], ['attempt-1', 'attempt-2'])
        steps = {name[:9]: [step for line in lines for step in line['steps']] for name, lines in parts.items()}
        self.assertEqual(steps, {'attempt-1': [1, 2, 3], 'attempt-2': [3, 4, 5]})


class BadMetricsTest(HistoryTest):
    def omitted(self) -> Optional[Dict[str, int]]:
        found = [line['omitted'] for lines in self.uploaded().values() for line in lines if 'omitted' in line]
        return found[-1] if found else None

    def test_nan_infinity_and_huge_numbers_are_kept(self) -> None:
        self.report('{"step": 1, "a": NaN, "b": 1e999, "c": -Infinity, "d": ' + '9' * 300 + ', "e": ' + '9' * 400 + '}')
        self.report('{"step": 1e300, "f": 0}', '{"step": -3.5, "g": 12345678901234567890}')
        self.finish()
        curves = {name: self.curve(name) for name in 'abcdefg'}
        self.assertEqual(
            curves,
            {
                'a': [(1, 'NaN')],
                'b': [(1, 'Infinity')],
                'c': [(1, '-Infinity')],
                'd': [(1, 1e300)],
                'e': [(1, 'Infinity')],
                'f': [(1e300, 0)],
                'g': [(-3.5, float(12345678901234567890))],
            },
        )

    def test_lines_that_are_no_reports_are_ignored(self) -> None:
        with open(self.paths.metrics_file, 'wb') as file:
            file.write(b'x' * 1_500_000 + b'\n' + os.urandom(100_000).replace(b'{', b'') + b'\n\x1b[31m{"loss": 1}\n')
            file.write(b'{"step": 1, "loss": 0.125}\n{"step": 2, "text": "' + b'y' * 2_000_000 + b'", "loss": 7}\n')
            file.write(b'{"loss": {"a": 1}}\n[1, 2]\n{"step": 3, "loss": 0.375}\n{"step": 4, "loss": 0.5}')
        self.finish()
        self.assertEqual(self.curve(), [(1, 0.125), (3, 0.375), (4, 0.5)])

    def test_ten_thousand_names_have_a_limit_in_bounded_memory(self) -> None:
        self.report(*(f'{{"step": 1, "m{name}": 1}}' for name in range(10_000)))
        tracemalloc.start()
        self.metrics.read()
        for step in range(2, 4):
            self.report(*(f'{{"step": {step}, "m{name}": 1}}' for name in range(10_000)))
            self.metrics.read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertLess(peak, 30_000_000)
        self.finish()
        names = {line['name'] for lines in self.uploaded().values() for line in lines if 'name' in line}
        self.assertEqual(len(names), NAME_COUNT_MAX)
        self.assertEqual(self.omitted(), {'series': 9_000, 'points': 27_000})
        said = 'The program reports more than 1000 metrics: those that came later are not kept.'
        self.assertEqual([line for line in self.lines if 'metrics' in line], [said])

    def test_a_thousand_reports_a_second_are_thinned_in_bounded_memory_and_it_is_said_once(self) -> None:
        clock = BootClock()
        now = clock.now()
        clock.now = lambda: now  # type: ignore[method-assign]
        self.metrics._times._clock = clock
        tracemalloc.start()
        for block in range(10):
            now += 20.0
            self.report(*(f'{{"step": {step}, "loss": 1}}' for step in range(block * 20_000, (block + 1) * 20_000)))
            self.metrics.read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertLess(peak, 30_000_000)
        self.finish()
        curve = self.curve()
        # Three a second, as the lowest and the highest are one, after the first 5,000 in 5 of 200 seconds.
        self.assertEqual(len(curve), 5_000 + 3 * 195)
        self.assertEqual(curve[:4_000], [(step, 1) for step in range(4_000)])
        self.assertEqual((curve[0][0], curve[-1][0]), (0, 199_999))
        self.assertEqual(self.omitted(), {'series': 0, 'points': 200_000 - len(curve)})
        self.assertEqual(sum('faster than their history keeps them' in line for line in self.lines), 1)

    def test_the_bytes_have_a_limit(self) -> None:
        self.addCleanup(setattr, series_history, 'BYTES_MAX', series_history.BYTES_MAX)
        series_history.BYTES_MAX = 300
        self.keep_all()
        for step in range(100):
            self.report_steps(step, step + 1)
            self.metrics.read()
        self.finish()
        self.assertLess(len(self.curve()), 10)
        self.assertEqual(sum('limit of 300 bytes' in line for line in self.lines), 1)

    def test_a_disk_that_refuses_writes_costs_metrics_only_until_it_takes_them(self) -> None:
        (self.home / 'series').write_text('not a folder')
        self.report_steps(1, 2)
        self.assertEqual(self.metrics.read().metrics, {'loss': 0.125})
        (self.home / 'series').unlink()
        self.finish()
        self.assertEqual(self.curve(), STEPS[:1])
        self.assertEqual(sum('could not be written to the disk' in line for line in self.lines), 1)

    def test_a_source_and_a_listener_that_fail_cost_no_other_metric_and_not_the_job(self) -> None:
        def fail(*_: Any) -> Any:
            raise AttributeError('unexpected')

        setattr(self.metrics._sources[0], 'read', fail)
        self.metrics.on_sample.append(fail)
        self.report_steps(1, 3)
        self.metrics.read()
        self.finish()
        self.assertEqual(self.curve(), STEPS[:2])
        self.assertEqual(sum('some may be missing' in line for line in self.lines), 2, self.lines)

    def test_a_listener_gets_every_sample_with_its_step_and_time(self) -> None:
        samples: List[Any] = []
        self.metrics.on_sample.append(samples.append)
        self.report('{"loss": 1}', '{"loss": 2}', '{"step": 7, "loss": 3}')
        self.metrics.read()
        taken = [(one.name, one.step, one.value) for one in samples]
        self.assertEqual(taken, [('loss', 1, 1), ('loss', 2, 2), ('loss', 7, 3)])
        self.assertTrue(all(abs(one.wall_time - time.time()) < 60 for one in samples))


if __name__ == '__main__':
    unittest.main()
