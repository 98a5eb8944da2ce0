import math
import os
import sys
import time
import unittest
from pathlib import Path
from typing import Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.metrics.samples.metric_names import is_loss, is_steady_loss
from vm_agent.metrics.sources.log_lines import WAITING_BYTES_MAX, LogLines

OUTPUT = Path(__file__).resolve().parent / 'output'
Point = Tuple[str, float, Optional[float]]

TRAININGS: Dict[str, List[Point]] = {
    'Epoch [1/10], Step [100/600], Loss: 0.2345': [('Loss', 0.2345, 100)],
    'epoch 3 loss 0.5 acc 0.9': [('loss', 0.5, 3), ('acc', 0.9, 3)],
    'Train Epoch: 2 [640/60000 (1%)]\tLoss: 0.3': [('Loss', 0.3, 60640)],
    'Test set: Average loss: 0.0500, Accuracy: 9833/10000 (98%)': [('test/loss', 0.05, None), ('test/Accuracy', 0.9833, None)],
    'Epoch 2 | Train | loss 0.5 | Valid | loss 0.6': [('loss', 0.5, 2), ('valid/loss', 0.6, 2)],
    'epoch 4 [val] total_loss=0.4': [('val/total_loss', 0.4, 4)],
    "| epoch 001:    100 / 500 loss=5.2, ppl=36.76, wps=1000, num_updates=100, lr=0.0001, wall=10": [
        ('loss', 5.2, 100),
        ('ppl', 36.76, 100),
        ('lr', 0.0001, 100),
    ],
    'mmengine - INFO - Epoch(train)  [1][ 50/1000]  lr: 1.0e-02  eta: 0:10:00  time: 0.5  memory: 1000  loss: 2.3': [
        ('lr', 0.01, 50),
        ('loss', 2.3, 50),
    ],
    '{"epoch": 3, "loss": 0.5, "time": 3.2}': [('loss', 0.5, 3)],
    "{'loss': '0.6943', 'learning_rate': '4.375e-05', 'train_runtime': '1.8', 'epoch': '0.5'}": [
        ('loss', 0.6943, 0.5),
        ('learning_rate', 4.375e-05, 0.5),
    ],
    'iter 100: loss 2.3, time 12.3ms, mfu 3.4%': [('loss', 2.3, 100)],
    'Epoch 1 Train Loss: 0.5 | Val. Loss: 0.6': [('train/Loss', 0.5, 1), ('val/Loss', 0.6, 1)],
    'step 250: train loss 2.2, val loss 2.3': [('train/loss', 2.2, 250), ('val/loss', 2.3, 250)],
    "[2]\ttraining's auc: 0.9\tvalid_1's auc: 0.8": [('training/auc', 0.9, 2), ('valid_1/auc', 0.8, 2)],
    '[0]\ttrain-rmse:0.5\teval-rmse:0.6': [('train-rmse', 0.5, 0), ('eval-rmse', 0.6, 0)],
    '7:\tlearn: 0.6\ttest: 0.7\tbest: 0.65 (3)\ttotal: 50ms\tremaining: 5s': [('learn', 0.6, 7), ('test', 0.7, 7)],
    '[03/25] log_loss=1.1 accuracy=90.00% (0.04s)': [('log_loss', 1.1, 3), ('accuracy', 90.0, 3)],
    '\x1b[32m2024-01-01 10:00:00\x1b[0m INFO step=7 train/loss=1e-3': [('train/loss', 0.001, 7)],
}

# Outputs of several lines, as public programs print them.
OUTPUTS: Dict[str, List[Point]] = {
    'Epoch [5/60], Loss: 10.4557\nEpoch [10/60], Loss: 9.5\n': [('Loss', 10.4557, 5), ('Loss', 9.5, 10)],
    '[1,  2000] loss: 2.213\n[1,  4000] loss: 1.9\n[2,  2000] loss: 1.8\n': [
        ('loss', 2.213, 2000),
        ('loss', 1.9, 4000),
        ('loss', 1.8, 6000),
    ],
    'Epoch: 1, Batch: 10, Loss: 2.0\nEpoch: 2, Batch: 10, Loss: 1.0\n': [('Loss', 2.0, 10), ('Loss', 1.0, 20)],
    '[0/2][50/60]\tLoss_D: 0.5\tLoss_G: 2.0\n[1/2][0/60]\tLoss_D: 0.4\n': [
        ('Loss_D', 0.5, 50),
        ('Loss_G', 2.0, 50),
        ('Loss_D', 0.4, 60),
    ],
    '| epoch   1 |    20/   99 batches | loss  8.32\n| epoch   2 |    20/   99 batches | loss  5.85\n': [
        ('loss', 8.32, 20),
        ('loss', 5.85, 119),
    ],
    'loss: 2.3  [  64/60000]\nTest Error: \n Accuracy: 40.0%, Avg loss: 1.71 \n\nloss: 2.2\n': [
        ('loss', 2.3, None),
        ('test/Accuracy', 40.0, None),
        ('test/loss', 1.71, None),
        ('loss', 2.2, None),
    ],
    'train Loss: 0.5 Acc: 0.6\nval Loss: 0.4 Acc: 0.7\nBest val Acc: 0.7\n': [
        ('train/Loss', 0.5, None),
        ('Acc', 0.6, None),
        ('val/Loss', 0.4, None),
        ('val/Acc', 0.7, None),
    ],
    '====> Test set loss: 97.5\n': [('test/loss', 97.5, None)],
    'Test set results: loss= 0.7\n': [('test/loss', 0.7, None)],
    '[Epoch 1/5] [D loss: 0.6] [G loss: 0.7]\n': [('D/loss', 0.6, 1), ('G/loss', 0.7, 1)],
    'Epoch: [0][ 10/391] Loss 2.0 (2.1) Acc@1 40.0 (41.0)\n *   Acc@1 10.000 Acc@5 30.000\n': [
        ('Loss', 2.0, 10),
        ('Acc@1', 40.0, 10),
        ('val/Acc@1', 10.0, 10),
        ('val/Acc@5', 30.0, 10),
    ],
    'Epoch 1: 100%|#| 4/4 [00:00<00:00, train_loss_step=0.8, val_loss=0.5]\n'
    'Epoch 2: 25%|#| 1/4 [00:00<00:00, train_loss_step=0.7, val_loss=0.5]\n': [
        ('train_loss_step', 0.8, 4),
        ('val_loss', 0.5, 4),
        ('train_loss_step', 0.7, 5),
    ],
    " 50%|##| 3/400 [00:01<00:02]\n{'loss': '0.69', 'epoch': '0.5'}\n": [('loss', 0.69, 0.5)],
    '   epoch  loss  acc\n0      1   1.0  0.5\n1      2   0.9  0.6\n': [],
    "Namespace(lr=0.1, epochs=5, loss_weight=0.3, target_accuracy=0.99)\n": [],
    '{"lr": 0.001, "loss_weights": [1.0, 0.5], "max_grad_norm": 1.0, "warmup_loss": 0.5, "seed": 42}\n': [],
    "=> loaded checkpoint (epoch 90, best_acc1 76.13, loss 1.05)\nBest accuracy so far: 0.91 (epoch 3)\n": [],
    'Epoch [1/3] Batch [7/40] Loss: nan\nWARNING: NaN loss at batch 7, skipping batch\n': [],
}

LOSSES_THAT_ARE_NOT_FINITE: Dict[str, str] = {
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
    'step 20: train loss nan, val loss nan': 'train/loss',
    'iter 10: loss nan, time 12.33ms': 'loss',
    'loss = tensor(nan, device="cuda:0", grad_fn=<NllLossBackward0>)': 'loss',
    '{"epoch": 4, "train/loss": NaN}': 'train/loss',
    '[0]\ttrain-logloss:nan\tvalid-logloss:nan': 'train-logloss',
    'epoch 2 val_loss=inf': 'val_loss',
    'the loss became NaN': 'loss',
    '2026-11-20 12:00:00 INFO training: cls_loss: -inf': 'cls_loss',
    '0:\tlearn: nan\ttotal: 50ms\tremaining: 5s': 'learn',
    'step 3 objective=nan': 'objective',
    'step 3 | ppl: inf': 'ppl',
}

NO_LOSSES_THAT_ARE_NOT_FINITE = (
    'Epoch 1: val_loss improved from inf to 0.69315, saving model to best.keras',
    'Validation loss decreased (inf --> 0.531).  Saving model ...',
    'WARNING: loss is nan, skipping batch 140',
    'step 12 loss: nan (batch skipped)',
    'best_loss: inf',
    'best val_loss=inf, 3 epochs left',
    'val_auc: nan - loss: 0.693',
    'np.nanmean(losses): 0.3',
    'INFO: loss: 0.25',
    'logging_nan_inf_filter=True',
    'the loss nan filter is on',
    'grad_norm: inf',
    'loss_scale: inf',
    'loss_mask: nan',
    'Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0',
    'packet loss: nan',
    'loss: nano',
    'loss: inference',
    'isnan(loss) = False',
    'skipna nan_loss=0.0',
    'Nan Bread Recipe: loss of appetite',
    'loss       NaN',
)

TABLES: Dict[str, List[Point]] = {
    'epoch     train_loss  valid_loss  accuracy  time    \n0         nan         0.5         0.098     00:05     \n': [
        ('train_loss', math.nan, 0),
        ('valid_loss', 0.5, 0),
        ('accuracy', 0.098, 0),
    ],
    '      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n'
    '        2/3      2.33G      1.234        nan      1.197         23        640: 100%|████| 8/8 [00:01<00:00]\n': [
        ('box_loss', 1.234, 2),
        ('cls_loss', math.nan, 2),
        ('dfl_loss', 1.197, 2),
    ],
    '---------------------------------\n| rollout/           |          |\n|    ep_len_mean     | 22.1     |\n'
    '|    ep_rew_mean     | nan      |\n| time/              |          |\n|    fps             | 900      |\n'
    '|    total_timesteps | 2048     |\n| train/             |          |\n|    loss            | 5.8      |\n'
    '---------------------------------\n': [('rollout/ep_rew_mean', math.nan, 2048), ('train/loss', 5.8, 2048)],
}

NO_TRAININGS = (
    'Using device: cuda:0',
    'Namespace(lr=0.1, epochs=10, batch_size=32, loss="mse")',
    "{'learning_rate': 0.1, 'dropout': 0.5, 'hidden': 512}",
    'torch 2.13.0',
    '2026-11-22 23:20:05,123 GET http://127.0.0.1:8080/x 200 0.5',
    'x shape: (32, 10)',
    'Saved checkpoint epoch=3-val_loss=0.52.ckpt',
    'Loading /runs/loss=0.5.ckpt',
    '{"level": "info", "port": 8080, "latency": 0.5}',
    'seed: 42',
    'Epoch 00003: val_loss improved from 0.53120 to 0.51234, saving model',
    'Downloading: 45%|████| 45/100 [00:10<00:20, 1.0MB/s]',
    'Total params: 5',
    'dropout=0.1 hidden=512',
    'CUDA error: 3',
    'error: 404 not found',
    'ERROR 500',
    'loss_weight: 0.5',
    'best loss: 0.3',
    'done; best accuracy 0.95',
    '[3/25] 2026',
    'ImportError: cannot import name x, line 12',
)


def read(*blocks: bytes) -> Tuple[LogLines, List[Point]]:
    lines = LogLines()
    for block in blocks:
        lines.add(block)
    return lines, [(sample.name, sample.value, sample.step) for sample in lines.read(False)]


class LogLinesTest(unittest.TestCase):
    def test_lines_of_a_training_are_metrics_with_their_steps(self) -> None:
        for line, points in TRAININGS.items():
            with self.subTest(line):
                self.assertEqual(read(line.encode() + b'\n')[1], points)

    def test_losses_that_are_not_finite_in_the_forms_that_frameworks_print(self) -> None:
        for line, name in LOSSES_THAT_ARE_NOT_FINITE.items():
            with self.subTest(line):
                found = [name for name, value, _ in read(line.encode() + b'\n')[1] if not math.isfinite(value)]
                self.assertEqual(found[:1], [name])
                self.assertTrue(is_loss(name))

    def test_nothing_else_is_a_loss_that_is_not_finite(self) -> None:
        for line in NO_LOSSES_THAT_ARE_NOT_FINITE:
            with self.subTest(line):
                points = read(line.encode() + b'\n')[1]
                self.assertEqual([name for name, value, _ in points if is_loss(name) and not math.isfinite(value)], [])

    def test_outputs_of_public_programs(self) -> None:
        for output, points in OUTPUTS.items():
            with self.subTest(output):
                self.assertEqual(read(output.encode())[1], points)

    def test_steps_go_on_after_a_reboot(self) -> None:
        before, _ = read(b'Epoch 0: 100%|#| 100/100 [00:01<00:00, loss=0.5]\nEpoch 1: 100%|#| 100/100 [00:01<00:00, loss=0.4]\n')
        after = LogLines()
        after.restore(before.to_json())
        after.add(b'Epoch 2: 10%|#| 10/100 [00:01<00:00, loss=0.3]\n')
        self.assertEqual([sample.step for sample in after.read(False)], [210])

    def test_tables(self) -> None:
        for table, points in TABLES.items():
            with self.subTest(table):
                expected = [(name, value, float(step or 0)) for name, value, step in points]
                self.assertEqual(str(read(table.encode())[1]), str(expected))

    def test_by_default_only_losses_and_scores_are_taken_and_their_names_say_where_they_come_from(self) -> None:
        lines = LogLines(takes_all=False)
        lines.add(b'step 3 loss: 0.5 temperature: 0.7 lr: 1e-3\nstep 3 accuracy=0.9 z=0.3\nthe loss 3 was small\n')
        found = [(sample.name, sample.value) for sample in lines.read(False)]
        self.assertEqual(found[:3], [('log/loss', 0.5), ('log/lr', 0.001), ('log/accuracy', 0.9)])
        words = LogLines(takes_all=False)
        words.add(b'a loss 3 times\n')
        self.assertEqual(words.read(False), [])

    def test_names_of_losses(self) -> None:
        for name in ('loss', 'train_loss', 'valLoss', 'eval/loss', 'train-logloss', 'nll', 'mse', 'Loss/train', 'ppl', 'elbo'):
            self.assertTrue(is_loss(name), name)
        for name in ('accuracy', 'glossary', 'best_loss', 'loss_scale', 'loss_mask', 'grad_norm', 'auc', 'learning_rate'):
            self.assertFalse(is_loss(name), name)
        for name in ('val_loss', 'policy_loss', 'g_loss', 'discriminator/loss', 'value_loss', 'elbo', 'objective'):
            self.assertFalse(is_steady_loss(name), name)

    def test_equal_values_without_a_step_are_reports_of_their_own(self) -> None:
        points: List[Point] = [('loss', 0.5, None), ('loss', 0.5, None), ('loss', 0.4, None)]
        self.assertEqual(read(b'loss: 0.5\nloss: 0.5\nloss: 0.4\n')[1], points)

    def test_positions_within_an_epoch_that_an_earlier_line_names_are_steps(self) -> None:
        output = b'Epoch 2\n-----\nloss: 2.3  [   64/60000]\nloss: 2.2  [ 6464/60000]\n'
        self.assertEqual(read(output)[1], [('loss', 2.3, 60064), ('loss', 2.2, 66464)])

    def test_other_lines_have_no_metrics(self) -> None:
        for line in NO_TRAININGS:
            with self.subTest(line):
                self.assertEqual(read(line.encode() + b'\n')[1], [])

    def test_a_value_that_is_not_a_number_is_reported(self) -> None:
        _, [(name, value, step)] = read(b'step: 5 | loss: nan\n')
        self.assertEqual((name, str(value), step), ('loss', 'nan', 5))

    def test_a_line_that_is_printed_again_is_one_report(self) -> None:
        self.assertEqual(len(read(b'step 1 loss 0.5\n' * 3)[1]), 1)

    def test_the_steps_of_all_epochs_are_known_from_epoch_and_step(self) -> None:
        lines, points = read(b'Epoch [2/10], Step [100/600], Loss: 0.25\n')
        self.assertEqual((points[0][2], lines.step, lines.steps_max), (700, 700, 6000))


class FrameworksTest(unittest.TestCase):
    """Output of real programs (tests/output/README.md)."""

    def replay(self, *names: str) -> Tuple[LogLines, Dict[str, List[Tuple[Optional[float], float]]]]:
        lines, points = read(*((OUTPUT / name).read_bytes() for name in names))
        curves: Dict[str, List[Tuple[Optional[float], float]]] = {}
        for name, value, step in points:
            curves.setdefault(name, []).append((step, value))
        return lines, curves

    def test_keras(self) -> None:
        lines, curves = self.replay('keras.txt')
        self.assertEqual(set(curves), {'loss', 'mae', 'val_loss', 'val_mae'})
        self.assertEqual(curves['val_loss'], [(6, 0.4416), (12, 0.3474), (18, 0.2888)])
        self.assertEqual((lines.step, lines.steps_max), (18, 18))

    def test_keras_with_one_line_per_epoch(self) -> None:
        self.assertEqual(self.replay('keras-verbose-2.txt')[1]['loss'], [(6, 1.4635), (12, 0.9425)])

    def test_lightning_with_rich(self) -> None:
        lines, curves = self.replay('lightning-rich.txt')
        self.assertEqual(curves, {'train_loss': [(8, 0.006)], 'val_loss': [(8, 0.016)]})

    def test_transformers(self) -> None:
        lines, curves = self.replay('transformers.stderr.txt', 'transformers.stdout.txt')
        self.assertEqual((lines.step, lines.steps_max), (8, 8))
        self.assertEqual(set(curves), {'loss', 'grad_norm', 'learning_rate', 'eval_loss', 'train_loss'})
        self.assertEqual([value for _, value in curves['loss']], [0.6943, 0.6931, 0.6936, 0.6944])

    def test_tqdm(self) -> None:
        self.assertEqual(self.replay('tqdm.txt')[1]['loss'], [(20, 0.05), (40, 0.025)])


class HostileOutputTest(unittest.TestCase):
    def test_any_output_is_read_in_bounded_time(self) -> None:
        patterns = (b'a=1 ', b'loss ', b'epoch [', b'1', b'\x1b[', b'a:', b' ', b'0/', b'a ', b'epoch 1 [', b'%|', b"'a'", b'loss=1e')
        for pattern in (*patterns, os.urandom(997), b'\xff\xfe\x00'):
            for end in (b'', b'\n', b'\r'):
                block = ((pattern * 2_000)[:1_900] + end) * 40
                began_at = time.monotonic()
                read(block)
                with self.subTest(pattern + end):
                    self.assertLess(time.monotonic() - began_at, 2)

    def test_output_that_is_not_read_in_time_is_dropped(self) -> None:
        lines = LogLines()
        for _ in range(100):
            lines.add(b'x' * 1_048_576)
        self.assertLessEqual(lines._waiting_bytes, WAITING_BYTES_MAX)
        lines.add(b'step 1 loss 0.5\n')
        self.assertEqual(len(lines.read(False)), 1)


if __name__ == '__main__':
    unittest.main()
