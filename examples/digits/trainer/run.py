"""One training run: the network, its progress, and resuming after an interruption."""

import random
from pathlib import Path
from typing import Callable, NamedTuple

from trainer.checkpoint import load_last_checkpoint, save_checkpoint
from trainer.data import Digits, Split
from trainer.network import create_parameters


class Settings(NamedTuple):
    """The settings that determine the result of a run, besides its number of epochs."""

    batch_size: int
    learning_rate: float
    hidden: int
    seed: int
    optimizer: str
    momentum: float
    validate: bool


class TrainingRun:
    """All randomness derives from seed and step, so that a resumed run has the same result as an uninterrupted one."""

    def __init__(self, engine, settings: Settings, digits: Split, checkpoints: Path) -> None:
        """Raises CheckpointMismatch if the last checkpoint has other settings."""
        self._settings = settings
        self._digits = digits
        self._checkpoints = checkpoints
        self.steps_per_epoch = -(-len(digits.train.labels) // settings.batch_size)
        saved = load_last_checkpoint(checkpoints, settings._asdict())
        self.is_resumed = saved is not None
        saved = saved or {'step': 0, 'loss_sum': 0.0, 'metrics': {}}
        self.step: int = saved['step']
        self.metrics: dict[str, float] = saved['metrics']
        self._loss_sum: float = saved['loss_sum']
        self._network = engine.Network(
            saved.get('parameters') or create_parameters(settings.hidden, settings.seed),
            settings.momentum if settings.optimizer == 'momentum' else 0.0,
            saved.get('velocities'),
        )

    @property
    def epoch(self) -> int:
        """The number of completed epochs."""
        return self.step // self.steps_per_epoch

    def train_epoch(self, is_stopping: Callable[[], bool]) -> bool:
        """Trains the rest of the epoch and saves a checkpoint; returns False if it was stopped before the end."""
        train = self._digits.train
        order = list(range(len(train.labels)))
        random.Random(f'order:{self._settings.seed}:{self.epoch}').shuffle(order)
        size = self._settings.batch_size
        for start in range((self.step % self.steps_per_epoch) * size, len(order), size):
            if is_stopping():
                self._save()
                return False
            images, labels = _take(train, order[start : start + size])
            self._loss_sum += self._network.train_batch(images, labels, self._settings.learning_rate)
            self.step += 1
        measured = self._digits.validation if self._settings.validate else self._digits.test
        self.metrics = {'loss': self._loss_sum / len(order), 'accuracy': self._measure_accuracy(measured)}
        self._loss_sum = 0.0
        self._save()
        return True

    def export_model(self) -> dict:
        return {'format': 'digits-network/1', 'parameters': self._network.to_lists()}

    def measure_test_accuracy(self) -> float:
        return self._measure_accuracy(self._digits.test)

    def _measure_accuracy(self, digits: Digits) -> float:
        images, labels = digits
        hits = sum(guess == label for guess, label in zip(self._network.predict(images), labels))
        return hits / len(labels)

    def _save(self) -> None:
        checkpoint = {
            'step': self.step,
            'settings': self._settings._asdict(),
            'metrics': self.metrics,
            'loss_sum': self._loss_sum,
            'parameters': self._network.to_lists(),
            'velocities': self._network.velocities_to_lists(),
        }
        save_checkpoint(self._checkpoints, checkpoint)


def _take(digits: Digits, indices: list[int]) -> tuple[list[list[float]], list[int]]:
    return [digits.images[index] for index in indices], [digits.labels[index] for index in indices]
