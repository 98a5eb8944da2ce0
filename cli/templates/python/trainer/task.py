"""Trains a small network to tell points inside a circle from those outside.

Replace `make_points` and `Network` by your own data and model. What the rest does is what a job needs: it saves a
checkpoint after every epoch, resumes from it when it is started again, and reports metrics.
"""

import argparse
import json
import math
import os
import random
from pathlib import Path
from typing import Optional

Point = tuple[float, float, int]


def main(argv: Optional[list[str]] = None) -> None:
    flags = parse_flags(argv)
    flags.output.mkdir(parents=True, exist_ok=True)
    checkpoint = flags.output / 'checkpoint.json'
    network = Network(flags.hidden, flags.seed)
    first_epoch = 1
    if checkpoint.exists():
        state = json.loads(checkpoint.read_text())
        network.weights = state['weights']
        first_epoch = state['epoch'] + 1
        print(f'Resuming after epoch {state["epoch"]}.', flush=True)
    train_points, test_points = make_points(flags.seed), make_points(flags.seed + 1)
    for epoch in range(first_epoch, flags.epochs + 1):
        # The order depends on the epoch alone, so that a resumed training continues like an uninterrupted one.
        order = random.Random(f'{flags.seed} {epoch}').sample(train_points, len(train_points))
        loss = sum(network.learn(point, flags.learning_rate) for point in order) / len(order)
        accuracy = sum(network.predict(x, y) == label for x, y, label in test_points) / len(test_points)
        report({'step': epoch, 'steps': flags.epochs, 'loss': loss, 'accuracy': accuracy})
        write_json(checkpoint, {'epoch': epoch, 'weights': network.weights})
    write_json(flags.output / 'model.json', network.weights)
    print(f'Saved {flags.output / "model.json"}.', flush=True)


class Network:
    """One hidden layer; a row of weights per unit: for x, for y, the bias, and for the output."""

    def __init__(self, units: int, seed: int) -> None:
        generator = random.Random(seed)
        self.weights = [[generator.gauss(0, 1) for _ in range(4)] for _ in range(units)]

    def learn(self, point: Point, learning_rate: float) -> float:
        """Makes one step of gradient descent, and returns the loss before it."""
        x, y, label = point
        outputs = [math.tanh(a * x + b * y + c) for a, b, c, _ in self.weights]
        probability = self.probability(x, y)
        error = probability - label
        for row, output in zip(self.weights, outputs):
            inner = error * row[3] * (1 - output * output)
            for index, gradient in enumerate((inner * x, inner * y, inner, error * output)):
                row[index] -= learning_rate * gradient
        return -math.log(max(1e-12, probability if label == 1 else 1 - probability))

    def predict(self, x: float, y: float) -> int:
        return int(self.probability(x, y) > 0.5)

    def probability(self, x: float, y: float) -> float:
        total = sum(d * math.tanh(a * x + b * y + c) for a, b, c, d in self.weights)
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))


def make_points(seed: int, count: int = 200) -> list[Point]:
    generator = random.Random(seed)
    points = [(generator.uniform(-2, 2), generator.uniform(-2, 2)) for _ in range(count)]
    return [(x, y, int(x * x + y * y < 2)) for x, y in points]


def report(metrics: dict[str, float]) -> None:
    """Prints the metrics, and appends them to DROPFORGE_METRICS_FILE, from which the page and the CLI have them."""
    print(f'epoch {metrics["step"]}  loss {metrics["loss"]:.4f}  accuracy {metrics["accuracy"]:.3f}', flush=True)
    path = os.environ.get('DROPFORGE_METRICS_FILE')
    if path:
        with open(path, 'a', encoding='utf-8') as file:
            file.write(json.dumps(metrics) + '\n')


def write_json(path: Path, value: object) -> None:
    """Writes the whole file or none, whenever the program is stopped."""
    temporary = path.with_suffix('.tmp')
    temporary.write_text(json.dumps(value))
    os.replace(temporary, path)


def parse_flags(argv: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('--epochs', type=int, default=20, help='passes over the training data')
    parser.add_argument('--learning-rate', type=float, default=0.05, help='step size of gradient descent')
    parser.add_argument('--hidden', type=int, default=8, help='units of the hidden layer')
    parser.add_argument('--seed', type=int, default=0, help='seed of data, weights and order')
    output = Path(os.environ.get('DROPFORGE_OUTPUT_DIR', 'output'))
    parser.add_argument('--output', type=Path, default=output, help='folder of model and checkpoint')
    return parser.parse_args(argv)


if __name__ == '__main__':
    main()
