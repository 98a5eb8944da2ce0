"""The handwritten digits; ORIGIN.md in this directory names their source."""

import gzip
import random
from importlib import resources
from typing import NamedTuple

PIXELS = 64
CLASSES = 10
INK_MAX = 16

# Independent of --seed, so that the accuracies of different runs can be compared.
SPLIT_SEED = 1797
TEST_FRACTION = 0.2

# The share of the digits that are not for testing.
VALIDATION_FRACTION = 0.25


class Digits(NamedTuple):
    """Images as rows of 64 pixels from 0 to 1, and their digits."""

    images: list[list[float]]
    labels: list[int]


class Split(NamedTuple):
    train: Digits
    validation: Digits
    test: Digits


def load_digits(has_validation: bool = False) -> Split:
    """Loads the data from the package, and sets TEST_FRACTION of it aside for testing.

    With validation, VALIDATION_FRACTION of the rest is for comparing settings: a test set that has chosen the settings
    would overestimate the model.
    """
    packed = resources.files('trainer').joinpath('digits.csv.gz').read_bytes()
    rows = [[int(value) for value in line.split(',')] for line in gzip.decompress(packed).decode('ascii').splitlines()]
    random.Random(SPLIT_SEED).shuffle(rows)
    test_count = round(len(rows) * TEST_FRACTION)
    validation_count = round((len(rows) - test_count) * VALIDATION_FRACTION) if has_validation else 0
    train_start = test_count + validation_count
    return Split(
        train=_to_digits(rows[train_start:]),
        validation=_to_digits(rows[test_count:train_start]),
        test=_to_digits(rows[:test_count]),
    )


def _to_digits(rows: list[list[int]]) -> Digits:
    return Digits(
        images=[[pixel / INK_MAX for pixel in row[:PIXELS]] for row in rows],
        labels=[row[PIXELS] for row in rows],
    )
