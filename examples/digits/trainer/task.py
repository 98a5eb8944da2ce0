"""Trains the network: `python -m trainer.task --job-dir output`.

Writes a checkpoint to JOB_DIR/checkpoints after every epoch, and resumes from the last one when it is restarted. On
SIGTERM, it saves a checkpoint and exits with 143. At the end, it writes JOB_DIR/model.json and JOB_DIR/metrics.json.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Optional

from trainer import network
from trainer.checkpoint import CheckpointMismatch, write_json
from trainer.data import load_digits
from trainer.run import Settings, TrainingRun

EXIT_TERMINATED = 128 + signal.SIGTERM
EXIT_USAGE = 2


def main(argv: Optional[list[str]] = None) -> int:
    stop_requests: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stop_requests.append(number))
    flags = parse_flags(argv)
    settings = Settings(*(getattr(flags, name) for name in Settings._fields))
    engine = choose_engine(flags.engine)
    digits = load_digits(settings.validate)
    try:
        run = TrainingRun(engine, settings, digits, flags.job_dir / 'checkpoints')
    except CheckpointMismatch as problem:
        print(f'error: {problem}', file=sys.stderr)
        return EXIT_USAGE
    validation = f'validating on {len(digits.validation.labels)}, ' if settings.validate else ''
    print(
        f'Training on {len(digits.train.labels)} digits, {validation}testing on {len(digits.test.labels)}, '
        f'with {engine.NAME}.',
        flush=True,
    )
    if run.is_resumed:
        print(f'Resuming from the checkpoint of step {run.step} (epoch {run.epoch}).', flush=True)
    return train(run, flags, lambda: bool(stop_requests))


def train(run: TrainingRun, flags: argparse.Namespace, is_stopping) -> int:
    started_at = time.monotonic()
    while run.epoch < flags.epochs:
        if not run.train_epoch(is_stopping):
            print(f'Stopped by SIGTERM; the checkpoint of step {run.step} is saved.', flush=True)
            return EXIT_TERMINATED
        report_epoch(run, flags.epochs)
    write_json(flags.job_dir / 'model.json', run.export_model())
    final = {'epochs': run.epoch, **run.metrics, 'test_accuracy': run.measure_test_accuracy()}
    write_json(flags.job_dir / 'metrics.json', final)
    print(f'Trained in {time.monotonic() - started_at:.1f} s: {flags.job_dir / "model.json"}', flush=True)
    return 0


def report_epoch(run: TrainingRun, epochs: int) -> None:
    """Prints the metrics, and appends them to DROPFORGE_METRICS_FILE if it is set."""
    loss, accuracy = run.metrics['loss'], run.metrics['accuracy']
    print(f'epoch {run.epoch}/{epochs}  loss {loss:.4f}  accuracy {accuracy:.4f}', flush=True)
    metrics_file = os.environ.get('DROPFORGE_METRICS_FILE')
    if metrics_file:
        line: dict[str, float] = {'step': run.epoch, 'steps': epochs, **run.metrics}
        with open(metrics_file, 'a', encoding='utf-8') as file:
            file.write(json.dumps(line) + '\n')


def choose_engine(name: str):
    """Returns the engine of that name; for `auto`, NumPy if it is installed."""
    if name != 'python':
        try:
            from trainer import network_numpy

            return network_numpy
        except ImportError:
            if name == 'numpy':
                raise
    return network


def parse_flags(argv: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='python -m trainer.task',
        description='Learns to recognize handwritten digits.',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    given = os.environ.get('DROPFORGE_OUTPUT_DIR') or os.environ.get('AIP_MODEL_DIR')
    parser.add_argument(
        '--job-dir',
        type=Path,
        default=given or None,
        required=not given,
        help='directory of checkpoints, model and metrics; default: $DROPFORGE_OUTPUT_DIR or $AIP_MODEL_DIR',
    )
    parser.add_argument('--epochs', type=_positive(int), default=30, help='passes over the training data')
    parser.add_argument('--batch-size', type=_positive(int), default=16, help='images per step')
    parser.add_argument('--learning-rate', type=_positive(float), default=0.1, help='step size of gradient descent')
    parser.add_argument('--hidden', type=_positive(int), default=32, help='units in the hidden layer')
    parser.add_argument('--optimizer', choices=['sgd', 'momentum'], default='sgd', help='how the weights are changed')
    parser.add_argument('--momentum', type=_fraction, default=0.9, help='of --optimizer momentum, below 1')
    parser.add_argument(
        '--validate',
        action='store_true',
        help='report the accuracy on a quarter of the training digits, to compare settings; default: on the test digits',
    )
    parser.add_argument('--seed', type=int, default=0, help='seed of the initial weights and the image order')
    parser.add_argument('--engine', choices=['auto', 'python', 'numpy'], default='auto', help='implementation to use')
    return parser.parse_args(argv)


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f'{text} is not at least 0 and less than 1')
    return value


def _positive(kind):
    def parse(text: str):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f'{text} is not greater than 0')
        return value

    parse.__name__ = f'positive {kind.__name__}'
    return parse


if __name__ == '__main__':
    sys.exit(main())
