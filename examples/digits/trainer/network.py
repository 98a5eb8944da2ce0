"""The network on plain lists: 64 pixels, one hidden layer of rectified linear units, ten digits.

`network_numpy` is the same network on NumPy arrays. Both exchange and save their parameters as lists.
"""

import math
import random
from operator import mul
from typing import Optional

from trainer.data import CLASSES, PIXELS

Vector = list[float]
Matrix = list[Vector]
Parameters = dict[str, list]

NAME = 'standard library'


def create_parameters(hidden: int, seed: int) -> Parameters:
    """Returns small random weights (He et al. 2015: variance 2 / inputs) and zero biases."""
    draw = random.Random(f'weights:{seed}').gauss
    return {
        'hidden_weights': [[draw(0, math.sqrt(2 / PIXELS)) for _ in range(PIXELS)] for _ in range(hidden)],
        'hidden_biases': [0.0] * hidden,
        'output_weights': [[draw(0, math.sqrt(2 / hidden)) for _ in range(hidden)] for _ in range(CLASSES)],
        'output_biases': [0.0] * CLASSES,
    }


class Network:
    """With a momentum above 0, each step also repeats this fraction of the previous one, its velocity."""

    def __init__(self, parameters: Parameters, momentum: float = 0.0, velocities: Optional[Parameters] = None) -> None:
        self._parameters = parameters
        self._momentum = momentum
        self._velocities = velocities or (zeros_like(parameters) if momentum > 0 else {})

    def to_lists(self) -> Parameters:
        return self._parameters

    def velocities_to_lists(self) -> Parameters:
        """Returns the velocities, which a resumed run needs; empty without momentum."""
        return self._velocities

    def predict(self, images: Matrix) -> list[int]:
        """Returns the most likely digit of each image."""
        return [max(range(CLASSES), key=scores.__getitem__) for scores in self._forward(images)[1]]

    def train_batch(self, images: Matrix, labels: list[int], learning_rate: float) -> float:
        """Makes one step of gradient descent; returns the summed cross-entropy of the batch before the step."""
        hidden, scores = self._forward(images)
        probabilities = [_softmax(row) for row in scores]
        loss = -sum(math.log(max(row[label], 1e-12)) for row, label in zip(probabilities, labels))
        output_errors = [
            [probability - (digit == label) for digit, probability in enumerate(row)]
            for row, label in zip(probabilities, labels)
        ]
        output_columns = _transpose(self._parameters['output_weights'])
        hidden_errors = [
            [_dot(errors, column) if activity > 0 else 0.0 for activity, column in zip(activities, output_columns)]
            for errors, activities in zip(output_errors, hidden)
        ]
        step = learning_rate / len(images)
        self._descend('output', output_errors, hidden, step)
        self._descend('hidden', hidden_errors, images, step)
        return loss

    def _forward(self, images: Matrix):
        hidden = [[max(0.0, value) for value in row] for row in self._apply('hidden', images)]
        return hidden, self._apply('output', hidden)

    def _apply(self, layer: str, inputs: Matrix) -> Matrix:
        neurons = list(zip(self._parameters[f'{layer}_weights'], self._parameters[f'{layer}_biases']))
        return [[_dot(weights, row) + bias for weights, bias in neurons] for row in inputs]

    def _descend(self, layer: str, errors: Matrix, inputs: Matrix, step: float) -> None:
        weights, biases = self._parameters[f'{layer}_weights'], self._parameters[f'{layer}_biases']
        columns = _transpose(inputs)
        for neuron, error in enumerate(_transpose(errors)):
            if self._momentum > 0:
                self._accelerate(layer, neuron, [step * _dot(error, column) for column in columns], step * sum(error))
            elif any(error):
                weights[neuron] = [
                    weight - step * _dot(error, column) for weight, column in zip(weights[neuron], columns)
                ]
                biases[neuron] -= step * sum(error)


    def _accelerate(self, layer: str, neuron: int, weight_step: Vector, bias_step: float) -> None:
        weights, biases = self._parameters[f'{layer}_weights'], self._parameters[f'{layer}_biases']
        speeds, bias_speeds = self._velocities[f'{layer}_weights'], self._velocities[f'{layer}_biases']
        speeds[neuron] = [self._momentum * speed - step for speed, step in zip(speeds[neuron], weight_step)]
        bias_speeds[neuron] = self._momentum * bias_speeds[neuron] - bias_step
        weights[neuron] = [weight + speed for weight, speed in zip(weights[neuron], speeds[neuron])]
        biases[neuron] += bias_speeds[neuron]


def zeros_like(parameters: Parameters) -> Parameters:
    return {
        name: [[0.0] * len(value) if isinstance(value, list) else 0.0 for value in values]
        for name, values in parameters.items()
    }


def _dot(left, right) -> float:
    return sum(map(mul, left, right))


def _transpose(rows: Matrix) -> list:
    return list(zip(*rows))


def _softmax(scores: Vector) -> Vector:
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]
