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
WEIGHTS, RESULT = f'{run.SHARED}/epoch-{{}}.weights.h5', f'{run.SHARED}/evaluator-{{}}-{{}}.json'
X = numpy.random.default_rng(0).normal(size=(160, 16)).astype('float32')
Y = numpy.sin(X.sum(axis=1))


def train() -> None:
    task = json.loads(os.environ['TF_CONFIG'])['task']
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation='tanh'), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.05), 'mse')
    if task['type'] == 'evaluator':
        evaluate(model, task['index'])
    else:
        fit(model)


def wait_for(path: str) -> str:
    while not files.exists(path):
        time.sleep(0.2)
    return path


def fit(model: keras.Model) -> None:
    began = []

    def on_epoch_begin(epoch: int, _logs: object) -> None:
        if not began:
            run.resumed(epoch * run.SAVE_EVERY)
        began.append(epoch)
        time.sleep(run.STEP_SECONDS * run.SAVE_EVERY)

    def on_epoch_end(epoch: int, _logs: object) -> None:
        model.save_weights(WEIGHTS.format(epoch + 1))
        run.saved((epoch + 1) * run.SAVE_EVERY)

    # The backup of an epoch comes after its weights, for which the evaluators wait.
    callbacks = [
        keras.callbacks.LambdaCallback(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end),
        keras.callbacks.BackupAndRestore(f'{run.SHARED}/backup'),
    ]
    model.fit(X, Y, batch_size=16, epochs=EPOCHS, shuffle=False, verbose=0, callbacks=callbacks)
    results = [wait_for(RESULT.format(index, EPOCHS)) for index in range(int(os.environ['REPLICAS']) - 1)]
    losses = [files.GFile(path, 'rb').read() for path in results]
    run.finished([*(weight.tobytes() for weight in model.get_weights()), *losses])


def evaluate(model: keras.Model, index: int) -> None:
    done = [epoch for epoch in range(1, EPOCHS + 1) if files.exists(RESULT.format(index, epoch))]
    run.resumed(len(done) * run.SAVE_EVERY)
    for epoch in range(len(done) + 1, EPOCHS + 1):
        files.copy(wait_for(WEIGHTS.format(epoch)), 'seen.weights.h5', overwrite=True)
        model.load_weights('seen.weights.h5')
        with files.GFile(RESULT.format(index, epoch), 'w') as file:
            file.write(json.dumps({'loss': float(model.evaluate(X, Y, verbose=0))}))
        run.saved(epoch * run.SAVE_EVERY)
