"""Stalls, the use of the machine, and all detectors together, as functions of what they are told."""

import json
import math
import sys
import time
import tracemalloc
import unittest
from pathlib import Path
from typing import Iterable, List, Optional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

from health_policy import policy_with
from vm_agent.health.finding import Condition, Finding
from vm_agent.health.gpus import GpuIdleDetector, GpuMemoryDetector, InputBoundDetector
from vm_agent.health.monitor import HealthMonitor
from vm_agent.health.pace import Pace
from vm_agent.health.reading import Reading
from vm_agent.health.space import DISK, MEMORY, SpaceDetector
from vm_agent.program.gpu_meter import GpuUsage

GIB = 2**30


class Clock:
    """The test says how late it is."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def codes(findings: Iterable[Finding]) -> List[str]:
    return [finding.code for finding in findings]


class PaceTest(unittest.TestCase):
    def test_the_limit_follows_from_the_pace_within_bounds(self) -> None:
        for gap, limit in ((1.0, 600.0), (60.0, 1_200.0), (3_600.0, 7_200.0)):
            pace = Pace(0.0)
            for number in range(1, 20):
                pace.add_report(number * gap)
            self.assertEqual(pace.limit_seconds(), limit)

    def test_until_the_pace_is_known_half_an_hour_of_silence_is_allowed(self) -> None:
        pace = Pace(0.0)
        self.assertFalse(pace.is_stalled(1_799.0))
        self.assertTrue(pace.is_stalled(1_801.0))

    def test_a_long_silence_that_was_survived_raises_the_limit(self) -> None:
        pace = Pace(0.0)
        for number in range(1, 20):
            pace.add_report(number * 10.0)
        pace.add_report(190.0 + 500.0)
        self.assertEqual(pace.limit_seconds(), 1_500.0)

    def test_activity_is_life(self) -> None:
        pace = Pace(0.0, stalled_after=60.0)
        for second in range(0, 600, 30):
            pace.add_activity(float(second))
            self.assertFalse(pace.is_stalled(second + 29.0))
        self.assertTrue(pace.is_stalled(640.0))


def gpu(busy: float, used: float = 10.0) -> GpuUsage:
    return GpuUsage('T4', busy, int(used * GIB), 16 * GIB)


class GpuTest(unittest.TestCase):
    def test_a_gpu_that_is_not_used_for_ten_minutes_is_idle_until_it_is(self) -> None:
        detector = GpuIdleDetector()
        for second in range(0, 590, 10):
            detector.add(Reading(float(second), gpus=(gpu(0.9), gpu(0.0))))
        self.assertEqual(detector.findings(), [])
        for second in range(590, 620, 10):
            detector.add(Reading(float(second), gpus=(gpu(0.9), gpu(0.0))))
        [finding] = detector.findings()
        self.assertEqual((finding.since, finding.until), (0.0, None))
        self.assertIn('1 of 2 GPUs has been used less than 3 %', finding.message)
        for second in range(620, 700, 10):
            detector.add(Reading(float(second), gpus=(gpu(0.9), gpu(0.9))))
        self.assertEqual(detector.findings()[0].until, 620.0)

    def test_evaluations_on_the_processor_are_no_idle_gpu(self) -> None:
        detector = GpuIdleDetector()
        for second in range(0, 7_200, 10):
            detector.add(Reading(float(second), gpus=(gpu(0.0 if second % 600 < 540 else 0.8),)))
        self.assertEqual(detector.findings(), [])

    def test_low_use_of_memory_says_how_much_larger_the_batch_could_be(self) -> None:
        detector = GpuMemoryDetector()
        for second in range(0, 1_000, 10):
            detector.add(Reading(float(second), gpus=(gpu(0.9, 4.0),)))
        [finding] = detector.findings()
        self.assertEqual(finding.message, 'At most 4.0 GiB of 16.0 GiB of GPU memory were used: the batch could be about 3 times larger.')
        detector.add(Reading(1_010.0, gpus=(gpu(0.9, 14.0),)))
        self.assertEqual(detector.findings()[0].until, 1_010.0)

    def test_a_peak_counts_for_the_whole_training(self) -> None:
        detector = GpuMemoryDetector()
        for second in range(0, 2_000, 10):
            detector.add(Reading(float(second), gpus=(gpu(0.9, 9.0 if second == 50 else 2.0),)))
        self.assertEqual(detector.findings(), [])


class InputBoundTest(unittest.TestCase):
    def feed(self, busy: Iterable[float], cpu: float = 0.3, disk: Optional[float] = None) -> List[Finding]:
        detector = InputBoundDetector()
        for number, value in enumerate(busy):
            detector.add(
                Reading(
                    10.0 * number,
                    cpu_fraction=cpu,
                    cpu_count=8,
                    disk_read_bytes_per_second=disk,
                    gpus=(gpu(value),),
                )
            )
        return detector.findings()

    def test_a_gpu_in_bursts_with_something_at_its_limit_waits_for_data(self) -> None:
        sawtooth = [0.9, 0.0, 0.1, 0.0] * 20
        for findings, reason in (
            (self.feed(sawtooth, cpu=0.97), 'all 8 processor cores are busy'),
            (self.feed(sawtooth, cpu=0.13), 'only about one of 8 processor cores is busy'),
            (self.feed(sawtooth, disk=200 * 2**20), '200 MiB/s are read from the disk'),
        ):
            self.assertEqual(codes(findings), ['INPUT_BOUND'])
            self.assertIn(reason, findings[0].message)
            self.assertIn('GPU use in percent: 90 0 10 0', findings[0].evidence[0])

    def test_a_busy_a_steady_and_an_unexplained_gpu_do_not(self) -> None:
        for findings in (
            self.feed([0.95, 0.85] * 40, cpu=0.97),
            self.feed([0.3] * 80, cpu=0.97),
            self.feed([0.9, 0.0, 0.1, 0.0] * 20, cpu=0.5),
        ):
            self.assertEqual(findings, [])


class SpaceTest(unittest.TestCase):
    def test_near_full_with_hysteresis(self) -> None:
        detector = SpaceDetector(DISK)
        for second in range(0, 100, 10):
            detector.add(91.0 * GIB, 100.0 * GIB, float(second))
        self.assertEqual(codes(detector.findings()), ['DISK_NEAR_FULL'])
        self.assertIn('91.0 GiB of 100.0 GiB of the disk are in use (91 %)', detector.findings()[0].message)
        for second in range(100, 400, 10):
            detector.add(89.0 * GIB, 100.0 * GIB, float(second))
        self.assertIsNone(detector.findings()[0].until)
        for second in range(400, 700, 10):
            detector.add(50.0 * GIB, 100.0 * GIB, float(second))
        self.assertEqual(detector.findings()[0].until, 400.0)

    def test_a_leak_is_seen_before_the_memory_is_full(self) -> None:
        detector = SpaceDetector(MEMORY)
        for second in range(0, 1_800, 10):
            detector.add((10.0 + second / 300) * GIB, 20.0 * GIB, float(second))
        [finding] = detector.findings()
        self.assertRegex(finding.message, r'It grows steadily, and is full in about \d+ min\.')

    def test_a_plateau_after_growth_and_a_sawtooth_are_no_leak(self) -> None:
        for used in (
            lambda second: min(14.0, 4.0 + second / 30),
            lambda second: 13.0 + (second % 300) / 100,
        ):
            detector = SpaceDetector(MEMORY)
            for second in range(0, 7_200, 10):
                detector.add(used(second) * GIB, 20.0 * GIB, float(second))
            self.assertEqual(detector.findings(), [])


class ConditionTest(unittest.TestCase):
    def test_does_not_flap(self) -> None:
        condition = Condition(60.0, 60.0)
        for second in range(0, 3_600, 10):
            condition.update(second % 20 == 0, float(second))
        self.assertIsNone(condition.since)


class MonitorTest(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = Clock()

    def monitor(self, **actions: str) -> HealthMonitor:
        monitor = HealthMonitor(policy_with(actions), self.clock)
        monitor.start()
        return monitor

    def report_nan(self, monitor: HealthMonitor) -> None:
        for _ in range(11):
            self.clock.now += 12.0
            monitor.add_sample('loss', math.nan, None)

    def test_nan_that_stays_does_what_the_job_asks_for(self) -> None:
        for actions, expected in (({}, 'stop'), ({'NON_FINITE': 'rollback'}, 'rollback'), ({'NON_FINITE': 'warn'}, None)):
            monitor = self.monitor(**actions)
            self.report_nan(monitor)
            decision = monitor.decide()
            self.assertEqual(decision and decision.action, expected)
            self.assertEqual(codes(monitor.findings()), ['NON_FINITE'])

    def test_what_is_ignored_is_no_finding(self) -> None:
        monitor = self.monitor(NON_FINITE='ignore')
        self.report_nan(monitor)
        self.assertEqual((monitor.findings(), monitor.decide()), ([], None))

    def test_the_begin_of_a_rollback_is_the_first_report(self) -> None:
        monitor = self.monitor(NON_FINITE='rollback')
        monitor.add_sample('loss', 1.0, None)
        self.report_nan(monitor)
        decision = monitor.decide()
        self.assertEqual(decision and decision.bad_since, 1_012.0)

    def test_a_program_whose_loss_was_never_finite_has_restored_a_bad_checkpoint(self) -> None:
        monitor = self.monitor(NON_FINITE='rollback')
        self.report_nan(monitor)
        decision = monitor.decide()
        self.assertEqual((decision and decision.action, decision and decision.bad_since), ('rollback', None))

    def test_a_stall_is_a_finding_with_a_stack_and_over_when_the_program_goes_on(self) -> None:
        monitor = HealthMonitor(policy_with({'STALLED': 'restart'}, 60.0), self.clock)
        monitor.start()
        self.clock.now += 61.0
        self.assertTrue(monitor.is_newly_stalled())
        monitor.record_stall(('Thread 1', 'File "a.py", line 3 in wait'))
        self.assertFalse(monitor.is_newly_stalled())
        decision = monitor.decide()
        self.assertEqual(decision and decision.action, 'restart')
        self.assertIn('The main thread was in a.py, line 3, in wait.', monitor.findings()[0].remedy)
        monitor.add_output('stdout')
        self.assertFalse(monitor.is_newly_stalled())
        self.assertIsNotNone(monitor.findings()[0].until)

    def test_quarter_of_an_hour_of_preprocessing_and_a_cache_that_fills_end_nothing(self) -> None:
        monitor = self.monitor()
        for second in range(0, 900, 10):
            self.clock.now += 10.0
            used = min(0.7, 0.1 + second / 1_000) * 64 * GIB
            monitor.add_reading(Reading(self.clock.now, memory_bytes=used, memory_bytes_max=64 * GIB))
            self.assertFalse(monitor.is_newly_stalled())
            self.assertIsNone(monitor.decide())

    def test_news_are_told_once(self) -> None:
        monitor = self.monitor(NON_FINITE='warn')
        self.report_nan(monitor)
        self.assertEqual(codes(monitor.take_news()), ['NON_FINITE'])
        self.assertEqual(monitor.take_news(), [])

    def test_nothing_is_decided_after_the_end(self) -> None:
        monitor = self.monitor()
        self.report_nan(monitor)
        monitor.stop()
        self.assertIsNone(monitor.decide())
        self.assertEqual(codes(monitor.findings()), ['NON_FINITE'])

    def test_binary_escapes_and_names_of_a_megabyte_are_bounded_and_clean(self) -> None:
        monitor = self.monitor(NON_FINITE='warn')
        for name in ('\x1b[31mloss\x1b[0m\x07', '\xff\x00' * 500_000 + ' loss', 'x' * 1_048_576):
            for _ in range(3):
                monitor.add_sample(name, math.nan, None)
        body = json.dumps([finding.to_json(0.0) for finding in monitor.findings()])
        self.assertLess(len(body), 8_000)
        self.assertNotRegex(body, r'\\u00(?:0|1)')

    def test_ten_thousand_metrics_at_once_take_bounded_memory(self) -> None:
        monitor = self.monitor(NON_FINITE='warn')
        tracemalloc.start()
        for number in range(100_000):
            monitor.add_sample(f'metric_{number % 10_000}_loss', math.nan if number % 7 == 0 else 1e300 * number, None)
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(used, 2**20)

    def test_wall_clock_jumps_change_nothing(self) -> None:
        finding = Finding('STALLED', 'a', 'b', since=10.0)
        self.assertEqual([finding.to_json(offset)['since'] for offset in (-100.0, 5.0)], [0, 15_000])


if __name__ == '__main__':
    unittest.main()
