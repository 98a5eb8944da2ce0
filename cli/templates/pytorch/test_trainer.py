"""Run it with `python -m unittest` or `pytest`."""

import tempfile
import unittest
from pathlib import Path

import torch

from trainer import task


class TrainingTest(unittest.TestCase):
    def train(self, folder: str, epochs: int) -> dict[str, torch.Tensor]:
        task.main(['--epochs', str(epochs), '--output', folder])
        return torch.load(Path(folder) / 'model.pt', map_location='cpu', weights_only=True)

    def test_learns(self) -> None:
        model = task.make_model()
        with tempfile.TemporaryDirectory() as folder:
            model.load_state_dict(self.train(folder, 20))
        accuracy = task.measure_accuracy(model, task.make_points(2), torch.device('cpu'))
        self.assertGreater(accuracy, 0.9)

    def test_resumes_as_if_it_had_not_been_interrupted(self) -> None:
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as interrupted:
            self.train(interrupted, 3)
            resumed, expected = self.train(interrupted, 6), self.train(whole, 6)
        for name, weights in expected.items():
            torch.testing.assert_close(resumed[name], weights)


if __name__ == '__main__':
    unittest.main()
