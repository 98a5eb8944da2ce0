"""Writes a few random images of the shape of MNIST, which its readers download otherwise, into a new folder."""

import random
import struct
import sys
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True)
random.seed(7)
for name, count in (('train', 1_024), ('t10k', 256)):
    images, labels = random.randbytes(count * 784), bytes(random.randrange(10) for _ in range(count))
    (folder / f'{name}-images-idx3-ubyte').write_bytes(struct.pack('>4I', 2051, count, 28, 28) + images)
    (folder / f'{name}-labels-idx1-ubyte').write_bytes(struct.pack('>2I', 2049, count) + labels)
