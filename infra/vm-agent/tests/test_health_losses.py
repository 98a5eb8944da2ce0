"""NON_FINITE, DIVERGING and PLATEAU, as functions of what a program prints and reports."""

import math
import time
import unittest
from pathlib import Path
from typing import Iterable, List

from vm_agent.health.finding import Finding
from vm_agent.health.loss_curve import LossCurves
from vm_agent.health.loss_log import find_not_finite
from vm_agent.health.loss_names import is_loss, is_steady_loss
from vm_agent.health.monitor import HealthMonitor
from vm_agent.health.non_finite import NonFiniteDetector
from vm_agent.health.policy import Policy

LOGS = Path(__file__).resolve().parent / 'benign_logs'


def codes(findings: Iterable[Finding]) -> List[str]:
    return [finding.code for finding in findings]


def keys(text: str) -> List[str]:
    return [report.key for report in find_not_finite(text.encode())]


class LossLogTest(unittest.TestCase):
    def test_finds_the_forms_that_frameworks_print(self) -> None:
        for line, key in {
            '235/235 - 1s - 4ms/step - accuracy: 0.0980 - loss: nan': 'loss',
            '12/20 [======>.......] - ETA: 0s - loss: nan - accuracy: 0.1': 'loss',
            "{'loss': 'nan', 'grad_norm': 'nan', 'learning_rate': '4e-05', 'epoch': '0.2'}": 'loss',
            "{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.01}": 'loss',
            'Epoch 3: 100%|####| 10/10 [00:00<00:00, 99.1it/s, v_num=0, train_loss=nan.0]': 'train_loss',
            'Loss is nan, stopping training': 'Loss',
            'I ERROR:tensorflow:Model diverged with loss = NaN.': 'loss',
            'NanLossDuringTrainingError: NaN loss during training.': 'NanLossDuringTrainingError',
            'Batch 12: Invalid loss, terminating training': 'loss',
            'Train Epoch: 1 [0/60000 (0%)]\tLoss: nan': 'Loss',
            'Epoch: [0][  10/391]  Time  0.1 ( 0.2)  Loss nan (nan)  Acc@1 0.78': 'Loss',
            'step 20: train loss nan, val loss nan': 'loss',
            'iter 10: loss nan, time 12.33ms': 'loss',
            'loss = tensor(nan, device="cuda:0", grad_fn=<NllLossBackward0>)': 'loss',
            '{"epoch": 4, "train/loss": NaN}': 'train/loss',
            '[0]\ttrain-logloss:nan\tvalid-logloss:nan': 'train-logloss',
            'epoch 2 val_loss=inf': 'val_loss',
            'the loss became NaN': 'loss',
            '2026-11-20 12:00:00 INFO training: cls_loss: -inf': 'cls_loss',
        }.items():
            with self.subTest(line):
                self.assertEqual(keys(line + '\n')[:1], [key])

    def test_takes_nothing_else_for_a_loss_that_is_not_finite(self) -> None:
        for line in (
            'Epoch 1: val_loss improved from inf to 0.69315, saving model to best.keras',
            'Validation loss decreased (inf --> 0.531).  Saving model ...',
            'best_loss: inf',
            'best val_loss=inf, 3 epochs left',
            'val_auc: nan - loss: 0.693',
            'np.nanmean(losses): 0.3',
            'INFO: loss: 0.25',
            'logging_nan_inf_filter=True',
            'the loss nan filter is on',
            'grad_norm: inf',
            'loss_scale: inf',
            'Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0',
            'packet loss: nan',
            'loss: nano',
            'loss: inference',
            'isnan(loss) = False',
            'skipna nan_loss=0.0',
            'Nan Bread Recipe: loss of appetite',
            'loss       NaN',
        ):
            with self.subTest(line):
                self.assertEqual(keys(line + '\n'), [])

    def test_counts_a_line_once_and_shows_only_that_line(self) -> None:
        found = find_not_finite(b'first\nloss: nan - val_loss: nan\nsecond loss: 1\n')
        self.assertEqual([report.line for report in found], ['loss: nan - val_loss: nan'])

    def test_a_hostile_block_costs_bounded_time(self) -> None:
        for unit, count in ((b'loss', 262_144), (b'loss: ', 170_000), (b'a', 1_048_576), (b'nan\x00\xff', 262_144)):
            block = unit * count + b' nan'
            started_at = time.process_time()
            find_not_finite(block)
            self.assertLess(time.process_time() - started_at, 0.5)

    def test_names_of_losses(self) -> None:
        for name in ('loss', 'train_loss', 'valLoss', 'eval/loss', 'train-logloss', 'nll', 'mse'):
            self.assertTrue(is_loss(name), name)
        for name in ('accuracy', 'glossary', 'best_loss', 'loss_scale', 'perplexity', 'grad_norm', 'auc'):
            self.assertFalse(is_loss(name), name)
        for name in ('val_loss', 'policy_loss', 'g_loss', 'discriminator/loss', 'value_loss'):
            self.assertFalse(is_steady_loss(name), name)


class NonFiniteTest(unittest.TestCase):
    def setUp(self) -> None:
        self.detector = NonFiniteDetector()

    def report(self, *values: float, name: str = 'loss') -> None:
        for step, value in enumerate(values):
            self.detector.add_sample(name, value, step, 10.0 * step)

    def test_three_reports_in_a_row_are_decisive(self) -> None:
        self.report(1.0, math.nan, math.nan)
        self.assertFalse(self.detector.is_decisive)
        self.report(math.inf)
        self.assertTrue(self.detector.is_decisive)
        [finding] = self.detector.findings()
        self.assertEqual(finding.message, 'The metric loss = NaN at step 1, in 3 reports in a row.')
        self.assertEqual(finding.evidence[0], 'loss = NaN at step 1')

    def test_a_finite_report_begins_a_new_row(self) -> None:
        self.report(math.nan, math.nan, 1.0, math.nan, math.nan)
        self.assertFalse(self.detector.is_decisive)

    def test_is_over_after_three_finite_reports(self) -> None:
        self.report(math.nan, 1.0, 1.0)
        self.assertIsNone(self.detector.findings()[0].until)
        self.report(1.0)
        self.assertIsNotNone(self.detector.findings()[0].until)

    def test_a_metric_that_is_no_loss_is_a_finding_only(self) -> None:
        self.report(*[math.nan] * 5, name='val_auc')
        self.assertFalse(self.detector.is_decisive)
        self.assertEqual(codes(self.detector.findings()), ['NON_FINITE'])

    def test_lines_of_the_log_count_and_states_of_a_progress_bar_do_once_a_second(self) -> None:
        for number in range(20):
            self.detector.add_output(b'\r%d/20 - loss: nan' % number, 5.0 + number / 20)
        self.assertFalse(self.detector.is_decisive)
        for number in range(3):
            self.detector.add_output(b'Epoch %d\nloss: nan\n' % number, 10.0)
        self.assertTrue(self.detector.is_decisive)

    def test_a_finite_loss_in_the_log_ends_it(self) -> None:
        self.detector.add_output(b'loss: nan\n', 1.0)
        for number in range(3):
            self.detector.add_output(b'loss: 0.5\n', 2.0 + number)
        self.assertEqual(self.detector.findings()[0].until, 4.0)

    def test_ten_thousand_names_take_bounded_memory(self) -> None:
        for number in range(10_000):
            self.detector.add_sample(f'loss_{number}', math.nan, None, float(number))
        self.assertLessEqual(len(self.detector._series), 128)


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
        rising = [0.1 * 1.5**step for step in range(40)]
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


class BenignLogsTest(unittest.TestCase):
    """Outputs of Keras, scikit-learn and JAX programs, and losses that PyTorch programs printed as other libraries do."""

    def test_raise_nothing(self) -> None:
        logs = sorted(LOGS.glob('*.txt'))
        self.assertGreaterEqual(len(logs), 20)
        for path in logs:
            with self.subTest(path.name):
                now = [1_000.0]
                monitor = HealthMonitor(Policy({}), lambda: now[0])
                monitor.start()
                for line in path.read_bytes().splitlines(keepends=True):
                    now[0] += 1.0
                    monitor.add_output('stdout', line)
                self.assertEqual(monitor.findings(), [])


if __name__ == '__main__':
    unittest.main()
