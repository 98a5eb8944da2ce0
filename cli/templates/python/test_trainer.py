"""Run it with `python -m unittest` or `pytest`."""

import json
import tempfile
import unittest
from pathlib import Path

from trainer import task


class TrainingTest(unittest.TestCase):
    def train(self, folder: str, epochs: int) -> list[list[float]]:
        task.main(['--epochs', str(epochs), '--output', folder])
        return json.loads((Path(folder) / 'model.json').read_text())

    def test_learns(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            network = task.Network(8, 0)
            network.weights = self.train(folder, 60)
        points = task.make_points(2)
        correct = sum(network.predict(x, y) == label for x, y, label in points)
        self.assertGreater(correct / len(points), 0.9)

    def test_resumes_as_if_it_had_not_been_interrupted(self) -> None:
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as interrupted:
            self.train(interrupted, 3)
            self.assertEqual(self.train(interrupted, 6), self.train(whole, 6))


if __name__ == '__main__':
    unittest.main()
