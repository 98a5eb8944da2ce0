"""Trains the network: `python -m trainer.task --job-dir output`.

Writes a checkpoint after every epoch into JOB_DIR/checkpoints and goes on from the last one when it is started again.
At SIGTERM it saves where it is and exits with 143. At the end it leaves JOB_DIR/model.json and JOB_DIR/metrics.json.
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
    digits = load_digits()
    try:
        run = TrainingRun(engine, settings, digits, flags.job_dir / 'checkpoints')
    except CheckpointMismatch as problem:
        print(f'error: {problem}', file=sys.stderr)
        return EXIT_USAGE
    print(
        f'Training on {len(digits.train.labels)} digits, testing on {len(digits.test.labels)}, with {engine.NAME}.',
        flush=True,
    )
    if run.is_resumed:
        print(f'Going on from the checkpoint of step {run.step} (epoch {run.epoch}).', flush=True)
    return train(run, flags, lambda: bool(stop_requests))


def train(run: TrainingRun, flags: argparse.Namespace, is_stopping) -> int:
    started_at = time.monotonic()
    while run.epoch < flags.epochs:
        if not run.train_epoch(is_stopping):
            print(f'Stopped by SIGTERM; step {run.step} is saved.', flush=True)
            return EXIT_TERMINATED
        report_epoch(run, flags.epochs)
    write_json(flags.job_dir / 'model.json', run.export_model())
    write_json(flags.job_dir / 'metrics.json', {'epochs': run.epoch, **run.metrics})
    print(f'Trained in {time.monotonic() - started_at:.1f} s: {flags.job_dir / "model.json"}', flush=True)
    return 0


def report_epoch(run: TrainingRun, epochs: int) -> None:
    """A line for people, and one for Dropforge where it has said in DROPFORGE_METRICS_FILE that it listens."""
    loss, accuracy = run.metrics['loss'], run.metrics['accuracy']
    print(f'epoch {run.epoch}/{epochs}  loss {loss:.4f}  accuracy {accuracy:.4f}', flush=True)
    metrics_file = os.environ.get('DROPFORGE_METRICS_FILE')
    if metrics_file:
        line: dict[str, float] = {'step': run.epoch, 'steps': epochs, **run.metrics}
        with open(metrics_file, 'a', encoding='utf-8') as file:
            file.write(json.dumps(line) + '\n')


def choose_engine(name: str):
    """NumPy where it is there, unless one of the two is asked for by name."""
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
        description='Learns to read handwritten digits.',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    given = os.environ.get('DROPFORGE_OUTPUT_DIR') or os.environ.get('AIP_MODEL_DIR')
    parser.add_argument(
        '--job-dir',
        type=Path,
        default=given or None,
        required=not given,
        help='where checkpoints, model and metrics are kept; by default $DROPFORGE_OUTPUT_DIR, or $AIP_MODEL_DIR',
    )
    parser.add_argument('--epochs', type=_positive(int), default=30, help='passes over the training data')
    parser.add_argument('--batch-size', type=_positive(int), default=16, help='images a step')
    parser.add_argument('--learning-rate', type=_positive(float), default=0.1, help='length of a step')
    parser.add_argument('--hidden', type=_positive(int), default=32, help='units of the hidden layer')
    parser.add_argument('--seed', type=int, default=0, help='of the first weights and of the order of the images')
    parser.add_argument('--engine', choices=['auto', 'python', 'numpy'], default='auto', help='what does the sums')
    return parser.parse_args(argv)


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
