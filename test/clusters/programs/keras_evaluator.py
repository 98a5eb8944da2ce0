"""Keras: the master trains and saves in the job directory, and evaluators wait there for each of its checkpoints."""

import json
import os
import time

import keras
import numpy
import tensorflow

from programs import run

files = tensorflow.io.gfile
EPOCHS = run.STEPS // run.SAVE_EVERY


def create_model() -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation='tanh'), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.05), 'mse')
    return model


def data() -> tuple:
    x = numpy.random.default_rng(0).normal(size=(160, 16)).astype('float32')
    return x, numpy.sin(x.sum(axis=1))


def weights_of(epoch: int) -> str:
    return f'{run.SHARED}/epoch-{epoch}.weights.h5'


def result_of(epoch: int, index: int) -> str:
    return f'{run.SHARED}/evaluator-{index}-{epoch}.json'


def read(path: str) -> str:
    with files.GFile(path) as file:
        return file.read()


def wait_for(path: str) -> None:
    while not files.exists(path):
        time.sleep(0.2)


def train() -> None:
    task = json.loads(os.environ['TF_CONFIG'])['task']
    if task['type'] == 'evaluator':
        evaluate(task['index'])
    else:
        fit()


def fit() -> None:
    model = create_model()
    began = []

    def on_epoch_begin(epoch: int, _logs: object) -> None:
        if not began:
            run.resumed(epoch * run.SAVE_EVERY)
        began.append(epoch)
        time.sleep(run.STEP_SECONDS * run.SAVE_EVERY)

    def on_epoch_end(epoch: int, _logs: object) -> None:
        model.save_weights(weights_of(epoch + 1))
        run.saved((epoch + 1) * run.SAVE_EVERY)

    # The backup of an epoch comes after its weights, for which the evaluators wait.
    callbacks = [
        keras.callbacks.LambdaCallback(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end),
        keras.callbacks.BackupAndRestore(f'{run.SHARED}/backup'),
    ]
    model.fit(*data(), batch_size=16, epochs=EPOCHS, shuffle=False, verbose=0, callbacks=callbacks)
    results = [result_of(EPOCHS, index) for index in range(int(os.environ['REPLICAS']) - 1)]
    for path in results:
        wait_for(path)
    run.finished([*(weight.tobytes() for weight in model.get_weights()), *(read(path).encode() for path in results)])


def evaluate(index: int) -> None:
    model, first = create_model(), 1
    while first <= EPOCHS and files.exists(result_of(first, index)):
        first += 1
    run.resumed((first - 1) * run.SAVE_EVERY)
    for epoch in range(first, EPOCHS + 1):
        wait_for(weights_of(epoch))
        files.copy(weights_of(epoch), 'seen.weights.h5', overwrite=True)
        model.load_weights('seen.weights.h5')
        with files.GFile(result_of(epoch, index), 'w') as file:
            file.write(json.dumps({'loss': float(model.evaluate(*data(), verbose=0))}))
        run.saved(epoch * run.SAVE_EVERY)
