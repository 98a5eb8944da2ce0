"""NON_FINITE, DIVERGING and PLATEAU, as functions of what a program prints and reports."""

import math
import sys
import unittest
from pathlib import Path
from typing import Dict, Iterable, List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from print_curves import CURVES, HEALTHY, describe, evaluate, read_rows
from vm_agent.health.finding import Finding
from vm_agent.health.loss_curve import LossCurves
from vm_agent.health.non_finite import NonFiniteDetector

LOGS = Path(__file__).resolve().parent / 'benign_logs'


def codes(findings: Iterable[Finding]) -> List[str]:
    return [finding.code for finding in findings]


class NonFiniteTest(unittest.TestCase):
    def setUp(self) -> None:
        self.detector = NonFiniteDetector()
        self.now = 0.0

    def report(self, *values: float, name: str = 'loss', seconds: float = 2.0) -> None:
        for value in values:
            self.now += seconds
            self.detector.add_sample(name, value, self.now, self.now)

    def test_ten_reports_over_five_seconds_without_a_finite_one_are_decisive(self) -> None:
        self.report(1.0, *[math.nan] * 9)
        self.assertFalse(self.detector.is_decisive)
        self.report(math.inf)
        self.assertTrue(self.detector.is_decisive)
        [finding] = self.detector.findings()
        self.assertEqual(finding.message, 'The metric loss = NaN at step 4, in 10 reports in a row.')
        self.assertEqual(finding.evidence[0], 'loss = NaN at step 4')

    def test_ten_steps_that_take_no_time_are_not(self) -> None:
        self.report(1.0, *[math.inf] * 30, seconds=0.1)
        self.assertFalse(self.detector.is_decisive)

    def test_three_epochs_of_ten_minutes_are(self) -> None:
        self.report(1.0, *[math.nan] * 3, seconds=600.0)
        self.assertTrue(self.detector.is_decisive)

    def test_before_the_first_finite_loss_it_takes_two_minutes(self) -> None:
        self.report(*[math.nan] * 60)
        self.assertFalse(self.detector.is_decisive)
        self.report(math.nan, math.nan)
        self.assertTrue(self.detector.is_decisive)

    def test_a_finite_report_begins_a_new_row(self) -> None:
        for _ in range(20):
            self.report(*[math.nan] * 9, 1.0)
        self.assertFalse(self.detector.is_decisive)

    def test_the_mean_of_an_epoch_is_no_reason_to_stop_while_losses_of_batches_are_finite(self) -> None:
        for _ in range(40):
            self.report(0.5, name='batch_loss')
            self.report(math.nan, name='epoch_loss', seconds=60.0)
        self.assertFalse(self.detector.is_decisive)
        self.assertEqual(codes(self.detector.findings()), ['NON_FINITE'])

    def test_a_loss_that_was_always_nan_does_not_say_since_when_the_others_are(self) -> None:
        for _ in range(20):
            self.report(math.nan, name='val_loss')
            self.report(1.0)
        lost_at = self.now + 2.0
        self.report(*[math.nan] * 12)
        self.assertTrue(self.detector.is_decisive)
        self.assertEqual(self.detector.loss_since, lost_at)
        self.assertIn('metric loss = NaN at step 82', self.detector.findings()[0].message)

    def test_what_a_loss_came_back_from_is_no_evidence(self) -> None:
        self.report(1.0, math.nan, 1.0, *[math.nan] * 12)
        self.assertEqual(self.detector.findings()[0].evidence[0], 'loss = NaN at step 8')

    def test_one_bad_report_is_no_finding_unless_it_is_the_last(self) -> None:
        self.report(1.0, math.nan)
        self.assertEqual(self.detector.findings(), [])
        self.detector.finish()
        self.assertEqual(codes(self.detector.findings()), ['NON_FINITE'])

    def test_is_over_after_three_finite_reports(self) -> None:
        self.report(1.0, *[math.nan] * 3, 1.0, 1.0)
        self.assertIsNone(self.detector.findings()[0].until)
        self.report(1.0)
        self.assertIsNotNone(self.detector.findings()[0].until)

    def test_a_metric_that_is_no_loss_is_a_finding_if_it_was_finite_before(self) -> None:
        self.report(*[math.nan] * 20, name='val_auc')
        self.report(*[math.inf] * 20, name='grad_norm')
        self.assertEqual(self.detector.findings(), [])
        self.report(0.9, *[math.nan] * 20, name='val_auc')
        self.assertFalse(self.detector.is_decisive)
        self.assertEqual(codes(self.detector.findings()), ['NON_FINITE'])

    def test_a_metric_that_is_no_loss_is_none_in_the_log(self) -> None:
        for name in ('log/val_auc', 'log/grad_norm', 'log/loss_mask', 'log/best_loss'):
            self.report(1.0, *[math.nan] * 20, name=name)
        self.assertEqual(self.detector.findings(), [])

    def test_losses_under_other_names(self) -> None:
        for name in ('objective', 'cost', 'ppl', 'elbo', 'train-rmse', 'log/learn', 'train/box_loss', 'Loss/train'):
            self.detector = NonFiniteDetector()
            self.report(1.0, *[math.nan] * 20, name=name)
            self.assertTrue(self.detector.is_decisive, name)

    def test_ten_thousand_names_take_bounded_memory(self) -> None:
        for number in range(10_000):
            self.detector.add_sample(f'loss_{number}', math.nan, None, float(number))
            self.detector.add_sample(f'other_{number}', 1.0, None, float(number))
        self.assertLessEqual(len(self.detector._rows), 128)
        self.assertLessEqual(len(self.detector._finite), 1_000)


class LossCurveTest(unittest.TestCase):
    def feed(self, values: Iterable[float], name: str = 'loss', seconds: float = 30.0) -> LossCurves:
        curves = LossCurves()
        for number, value in enumerate(values):
            curves.add_sample(name, value, number * seconds)
        return curves

    def falling(self, count: int) -> List[float]:
        return [2.3 * math.exp(-step / 30) + 0.2 + 0.05 * math.sin(7 * step) for step in range(count)]

    def test_a_loss_that_explodes_diverges(self) -> None:
        for values in (
            [*self.falling(60), *(0.5 * 1.6**step for step in range(30))],
            [2.3 * 1.5**step for step in range(40)],
        ):
            found = [one for one in self.feed(values).findings() if one.code == 'DIVERGING']
            self.assertEqual(len(found), 1)
            self.assertIn('loss has risen to', found[0].message)

    def test_one_that_falls_is_noisy_overfits_or_has_spikes_does_not(self) -> None:
        spiky = self.falling(200)
        for at in (50, 51, 52, 120, 170):
            spiky[at] = 40.0
        overfit = [*self.falling(50), *(0.3 + step / 100 for step in range(150))]
        noisy = [3.0 + 2.5 * math.sin(11 * step) for step in range(300)]
        warmup = [10.8, 11.0, 11.2, 11.1, *(10.9 - step / 20 for step in range(100))]
        negative = [-1.0 * step + 10 * math.sin(step) for step in range(100)]
        for values in (self.falling(200), spiky, noisy, warmup, negative):
            self.assertEqual(codes(self.feed(values).findings()), [])
        self.assertEqual(codes(self.feed(overfit, 'val_loss').findings()), ['PLATEAU'])

    def test_only_losses_that_the_training_makes_smaller(self) -> None:
        rising = [0.1 * 1.1**step for step in range(40)]
        for name in ('accuracy', 'value_loss', 'g_loss', 'lr', 'reward'):
            self.assertEqual(codes(self.feed(rising, name).findings()), [])

    def test_no_improvement_for_most_of_the_reports_is_a_plateau_that_ends(self) -> None:
        curves = self.feed([*self.falling(40), *[0.2] * 200])
        self.assertEqual(codes(curves.findings()), ['PLATEAU'])
        for number in range(20):
            curves.add_sample('loss', 0.2 - number / 100, 8_000.0 + number)
        self.assertIsNotNone(curves.findings()[0].until)

    def test_a_short_training_has_none(self) -> None:
        self.assertEqual(codes(self.feed([*self.falling(40), *[0.2] * 200], seconds=1.0).findings()), [])

    def test_huge_numbers(self) -> None:
        self.feed([1e308, -1e308, 1.7e308, 5e-324, 0.0] * 20)


class CurvesTest(unittest.TestCase):
    """Logs and curves of real programs whose course is known (tests/curves/README.md)."""

    def test_none_that_is_well_is_ended_and_most_that_are_ill_are_found(self) -> None:
        verdicts = [evaluate(row) for row in read_rows(sorted(CURVES.glob('*.jsonl')))]
        healthy = [one for one in verdicts if one.label == HEALTHY]
        ill = [one for one in verdicts if one.label != HEALTHY]
        self.assertGreaterEqual(len(verdicts), 60)
        shown = describe(verdicts)
        self.assertEqual([one.id for one in healthy if one.stopped_for is not None], [], shown)
        self.assertLessEqual(sum(one.is_warned for one in healthy), 2, shown)
        self.assertGreaterEqual(sum(one.is_warned for one in ill), 0.9 * len(ill), shown)


def falling(step: int) -> float:
    return 2.3 * math.exp(-step / 60) + 0.2


# Losses of healthy programs that look ill, a line every two seconds.
HEALTHY_PROGRAMS: Dict[str, List[str]] = {
    'a bad batch is skipped': [
        'WARNING: loss is nan, skipping batch 140' if step % 50 < 4 else f'step {step} loss: {falling(step):.4f}'
        for step in range(300)
    ],
    'mixed precision overflows in the first steps': [
        f'step {step} loss: {"inf" if step < 8 else falling(step)} grad_norm: {"inf" if step < 16 else 1.5}'
        for step in range(300)
    ],
    'the loss is infinite at step one': [f'step {step} loss: {falling(step) if step else "inf"}' for step in range(300)],
    'the weight of KL grows': [
        f'step {step} loss: {falling(step) + min(1, step / 100) * 20} kl: {20 - step / 100}' for step in range(300)
    ],
    'a curriculum gets harder': [
        f'step {step} loss: {2.0 * math.exp(-(step % 100) / 20) + 0.1 * (step // 100)}' for step in range(300)
    ],
    'the schedule of the learning rate restarts': [
        f'step {step} loss: {falling(step) + (1.2 * math.exp(-(step % 60) / 10) if step > 59 else 0)}' for step in range(300)
    ],
    'the data of a validation have one class': [f'epoch {step} loss: {falling(step)} val_auc: nan' for step in range(300)],
    'NaN comes back': [f'step {step} loss: {"nan" if step % 30 < 5 else falling(step)}' for step in range(300)],
    'the mean of no episode': [
        f'step {step} loss: {falling(step)} mean_reward: {"nan" if step < 200 else step / 10}' for step in range(300)
    ],
    'values of settings': ['loss_mask: nan best_loss: inf loss_scale: inf', *(f'loss_mask: nan {step}' for step in range(300))],
}


class HealthyProgramsTest(unittest.TestCase):
    def test_no_healthy_program_is_ended_or_warned_of(self) -> None:
        self.assertEqual(len(HEALTHY_PROGRAMS), 10)
        for name, lines in HEALTHY_PROGRAMS.items():
            with self.subTest(name):
                verdict = evaluate({'id': name, 'label': HEALTHY, 'how': 'log', 'seconds_per_line': 2, 'lines': lines})
                self.assertIsNone(verdict.stopped_for)
                warned = {code: finding.message for code, finding in verdict.findings.items() if code != 'PLATEAU'}
                self.assertTrue(name in ('NaN comes back', 'mixed precision overflows in the first steps') or not warned, warned)


class BenignLogsTest(unittest.TestCase):
    """Outputs of Keras, scikit-learn and JAX programs, and losses that PyTorch programs printed as other libraries do."""

    def test_raise_nothing(self) -> None:
        logs = sorted(LOGS.glob('*.txt'))
        self.assertGreaterEqual(len(logs), 20)
        for path in logs:
            with self.subTest(path.name):
                lines = path.read_text('utf-8').splitlines()
                verdict = evaluate({'id': path.name, 'label': HEALTHY, 'how': 'log', 'seconds_per_line': 1, 'lines': lines})
                self.assertEqual(verdict.findings, {})


if __name__ == '__main__':
    unittest.main()
