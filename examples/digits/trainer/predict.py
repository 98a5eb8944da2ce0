"""Recognizes digits with a trained model: `python -m trainer.predict model.json < images.csv`.

Each line of the input has 64 comma-separated pixels from 0 to 16; each line of the output is the digit. With
`--sample N`, the first N images of the test set are printed with their predicted and actual digits instead.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Optional

from trainer.data import INK_MAX, PIXELS, load_digits
from trainer.network import Network

SHADES = ' .:-=+*#@'
WIDTH = 8


def main(argv: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog='python -m trainer.predict', description='Recognizes handwritten digits.')
    parser.add_argument('model', type=Path, help='the model.json of a training run')
    parser.add_argument('--sample', type=int, metavar='N', help='print and predict the first N images of the test set')
    flags = parser.parse_args(argv)
    model = Network(json.loads(flags.model.read_text(encoding='utf-8'))['parameters'])
    if flags.sample is not None:
        return predict_sample(model, flags.sample)
    return predict_lines(model)


def predict_lines(model: Network) -> int:
    for number, line in enumerate(sys.stdin, start=1):
        try:
            image = [int(value) / INK_MAX for value in line.split(',')]
            if len(image) != PIXELS:
                raise ValueError(f'{len(image)} values')
        except ValueError as problem:
            print(f'error: line {number} is not {PIXELS} numbers from 0 to {INK_MAX} ({problem}).', file=sys.stderr)
            return 1
        print(model.predict([image])[0])
    return 0


def predict_sample(model: Network, count: int) -> int:
    images, labels = load_digits().test
    for image, label, guess in zip(images[:count], labels, model.predict(images[:count])):
        for start in range(0, PIXELS, WIDTH):
            print(''.join(SHADES[round(pixel * (len(SHADES) - 1))] * 2 for pixel in image[start : start + WIDTH]))
        print(f'predicted {guess}, actual {label}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
