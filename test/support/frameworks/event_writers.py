"""
Writes one event file with a framework's own writer, and prints what the agent reads from it as JSON.

python event_writers.py AGENT WRITER FOLDER: the agent's sources, a function of this file, and an empty folder.
"""

import json
import struct
import sys
from pathlib import Path


def tensorflow_2(folder: str) -> None:
    import tensorflow as tf

    with tf.summary.create_file_writer(folder).as_default():
        for step in range(3):
            tf.summary.scalar('loss', 0.5 + step, step=step)
            tf.summary.histogram('weights', [0.0, 1.0], step=step)
            tf.summary.text('note', 'text', step=step)
            tf.summary.scalar('precise', tf.constant(0.1, tf.float64), step=step)


def tensorflow_1(folder: str) -> None:
    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    writer = tf.compat.v1.summary.FileWriter(folder, tf.Graph())
    for step in range(3):
        value = tf.compat.v1.Summary.Value(tag='loss', simple_value=0.5 + step)
        writer.add_summary(tf.compat.v1.Summary(value=[value]), step)
    writer.close()


def keras(folder: str) -> None:
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1, kernel_initializer='zeros')])
    model.compile('sgd', 'mse')
    ones = tf.ones((4, 1))
    board = tf.keras.callbacks.TensorBoard(folder, histogram_freq=1, write_images=True)
    history = model.fit(ones, ones, validation_data=(ones, ones), epochs=3, verbose=0, callbacks=[board]).history
    Path(folder, 'expected.json').write_text(json.dumps(history['val_loss']))


def torch(folder: str) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar('loss', 0.5 + step, step)
            writer.add_scalars('both', {'a': 1.0, 'b': 2.0}, step)
        writer.add_hparams({'rate': 0.1}, {'hparam/loss': 2.5})


def tensorboard(folder: str) -> None:
    from tensorboard.compat.proto import event_pb2
    from tensorboard.plugins.scalar import summary_v2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(folder)
    for step in range(3):
        writer.add_event(event_pb2.Event(step=step, wall_time=10.0, summary=summary_v2.scalar_pb('loss', 0.5 + step)))
    writer.close()


def check_against_tensorboard(path: Path, scalars: list) -> None:
    """TensorBoard's own reader finds the same scalars, as single-precision numbers."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.util import tensor_util

    expected = [
        (value.tag, event.step, event.wall_time, float(tensor_util.make_ndarray(value.tensor)))
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name == 'scalars'
    ]
    found = [(one.tag, one.step, one.wall_time, struct.unpack('<f', struct.pack('<f', one.value))[0]) for one in scalars]
    assert found == expected, f'{found} is not {expected}'


def main(agent: str, writer: str, folder: str) -> None:
    sys.path.insert(0, agent)
    from vm_agent.metrics.sources.event_file import read_scalars
    from vm_agent.metrics.sources.event_folder import EventFolder

    globals()[writer](folder)
    found = [[one.name, one.step, one.value] for one in EventFolder(Path(folder)).read() if not one.is_shadowed]
    for path in Path(folder).rglob('*tfevents*'):
        data = path.read_bytes()
        whole, end = read_scalars(lambda start, size: data[start : start + size], 0, len(data))
        assert end == len(data), f'{path} is read up to {end} of {len(data)} bytes'
        check_against_tensorboard(path, whole)
        for cut in range(0, len(data), max(1, len(data) // 500)):
            first, at = read_scalars(lambda start, size: data[:cut][start : start + size], 0, len(data))
            rest, _ = read_scalars(lambda start, size: data[start : start + size], at, len(data))
            assert first + rest == whole, f'{path} cut at {cut}'
    expected = Path(folder, 'expected.json')
    print(json.dumps({'scalars': found, 'expected': json.loads(expected.read_text()) if expected.exists() else None}))


main(*sys.argv[1:])
