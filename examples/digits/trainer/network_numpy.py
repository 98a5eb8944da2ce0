"""The network of `network` on NumPy arrays: the same steps, about a hundred times faster."""

from typing import Optional

import numpy

from trainer.network import Matrix, Parameters, zeros_like

NAME = 'NumPy'


class Network:
    def __init__(self, parameters: Parameters, momentum: float = 0.0, velocities: Optional[Parameters] = None) -> None:
        self._parameters = _to_arrays(parameters)
        self._momentum = momentum
        self._velocities = _to_arrays(velocities or (zeros_like(parameters) if momentum > 0 else {}))

    def to_lists(self) -> Parameters:
        return {name: values.tolist() for name, values in self._parameters.items()}

    def velocities_to_lists(self) -> Parameters:
        """Returns the velocities, which a resumed run needs; empty without momentum."""
        return {name: values.tolist() for name, values in self._velocities.items()}

    def predict(self, images: Matrix) -> list[int]:
        """Returns the most likely digit of each image."""
        return self._forward(numpy.array(images))[1].argmax(axis=1).tolist()

    def train_batch(self, images: Matrix, labels: list[int], learning_rate: float) -> float:
        """Makes one step of gradient descent; returns the summed cross-entropy of the batch before the step."""
        pixels = numpy.array(images)
        rows = numpy.arange(len(labels))
        hidden, scores = self._forward(pixels)
        probabilities = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        loss = -numpy.log(numpy.maximum(probabilities[rows, labels], 1e-12)).sum()
        output_errors = probabilities
        output_errors[rows, labels] -= 1
        hidden_errors = (output_errors @ self._parameters['output_weights']) * (hidden > 0)
        step = learning_rate / len(labels)
        self._descend('output', output_errors, hidden, step)
        self._descend('hidden', hidden_errors, pixels, step)
        return float(loss)

    def _forward(self, pixels):
        hidden = numpy.maximum(pixels @ self._parameters['hidden_weights'].T + self._parameters['hidden_biases'], 0)
        return hidden, hidden @ self._parameters['output_weights'].T + self._parameters['output_biases']

    def _descend(self, layer: str, errors, inputs, step: float) -> None:
        for name, gradient in ((f'{layer}_weights', errors.T @ inputs), (f'{layer}_biases', errors.sum(axis=0))):
            if self._momentum > 0:
                self._velocities[name] = self._momentum * self._velocities[name] - step * gradient
                self._parameters[name] += self._velocities[name]
            else:
                self._parameters[name] -= step * gradient


def _to_arrays(parameters: Parameters):
    return {name: numpy.array(values) for name, values in parameters.items()}
