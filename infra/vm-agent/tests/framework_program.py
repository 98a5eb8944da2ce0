"""
Programs that save their state with a real framework, as its documentation shows, until they are killed. Each prints
`RESUMED STEP` when it has read its last state, and `SAVED STEP` after each save.
"""

# The frameworks are installed where this program runs, not where it is checked.
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportArgumentType=false

import argparse
import os
import time
from pathlib import Path
from typing import Any, Callable, Dict

STEPS_MAX = 100_000
PAUSE_SECONDS = 0.05


def resumed(step: int) -> None:
    print('RESUMED', step, flush=True)


def saved(step: int) -> None:
    print('SAVED', step, flush=True)
    time.sleep(PAUSE_SECONDS)


def train_with_torch(folder: Path) -> None:
    """Rewrites one file in place."""
    import torch

    file = folder / 'checkpoint.pt'
    model = torch.nn.Linear(400, 400)
    optimizer = torch.optim.Adam(model.parameters())
    first = 0
    if file.exists():
        state = torch.load(file)
        model.load_state_dict(state['model'])
        optimizer.load_state_dict(state['optimizer'])
        first = state['step']
    resumed(first)
    for step in range(first + 1, STEPS_MAX):
        model(torch.ones(1, 400)).sum().backward()
        optimizer.step()
        torch.save({'step': step, 'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, file)
        saved(step)


def train_with_joblib(folder: Path) -> None:
    """Rewrites one file in place."""
    import joblib
    import numpy

    file = folder / 'model.joblib'
    first = joblib.load(file)['step'] if file.exists() else 0
    resumed(first)
    for step in range(first + 1, STEPS_MAX):
        joblib.dump({'step': step, 'weights': numpy.full(200_000, step)}, file)
        saved(step)


def train_with_keras(folder: Path) -> None:
    """Rewrites a model in place, and the weights and the metadata of a backup."""
    import keras
    import numpy

    file = folder / 'last.keras'
    if file.exists():
        keras.models.load_model(file)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse')
    has_begun = False

    def on_epoch_begin(epoch: int, _logs: Any) -> None:
        nonlocal has_begun
        if not has_begun:
            resumed(epoch)
        has_begun = True

    callbacks = [
        keras.callbacks.ModelCheckpoint(str(file)),
        keras.callbacks.BackupAndRestore(str(folder / 'backup')),
        keras.callbacks.LambdaCallback(on_epoch_begin=on_epoch_begin, on_epoch_end=lambda epoch, _: saved(epoch + 1)),
    ]
    model.fit(numpy.ones((8, 8)), numpy.ones(8), batch_size=8, epochs=STEPS_MAX, verbose=0, callbacks=callbacks)


def train_with_tensorflow(folder: Path) -> None:
    """Writes files under new names, and then the file `checkpoint`, which names them; deletes old ones."""
    import tensorflow

    checkpoint = tensorflow.train.Checkpoint(step=tensorflow.Variable(0), weights=tensorflow.Variable([0.0] * 100_000))
    manager = tensorflow.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
    if manager.latest_checkpoint:
        checkpoint.restore(manager.latest_checkpoint).assert_existing_objects_matched()
    resumed(int(checkpoint.step))
    for step in range(int(checkpoint.step) + 1, STEPS_MAX):
        checkpoint.step.assign(step)
        manager.save(checkpoint_number=step)
        saved(step)


def train_with_orbax(folder: Path) -> None:
    """Renames directories into place; deletes old ones."""
    import jax
    import orbax.checkpoint

    options = orbax.checkpoint.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=False)
    manager = orbax.checkpoint.CheckpointManager(folder / 'orbax', options=options)
    first = manager.latest_step() or 0
    if first:
        state = manager.restore(first, args=orbax.checkpoint.args.StandardRestore())
        assert int(state['weights'][0]) == first
    resumed(first)
    for step in range(first + 1, STEPS_MAX):
        state = {'weights': jax.numpy.full(50_000, step)}
        manager.save(step, args=orbax.checkpoint.args.StandardSave(state))
        manager.wait_until_finished()
        saved(step)


def train_with_transformers(folder: Path) -> None:
    """Writes directories of several files; deletes old ones."""
    import torch
    import transformers
    from transformers.trainer_utils import get_last_checkpoint

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 1)

        def forward(self, x: Any, labels: Any = None) -> Dict[str, Any]:
            output = self.linear(x)
            return {'loss': ((output - labels) ** 2).mean(), 'logits': output}

    class Report(transformers.TrainerCallback):
        def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            resumed(state.global_step)

        def on_save(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            saved(state.global_step)

    data = [{'x': torch.ones(8), 'labels': torch.ones(1)}] * 8
    arguments = transformers.TrainingArguments(
        str(folder),
        max_steps=STEPS_MAX,
        save_steps=1,
        save_total_limit=2,
        per_device_train_batch_size=8,
        report_to=[],
        disable_tqdm=True,
        logging_strategy='no',
        use_cpu=True,
    )
    trainer = transformers.Trainer(Model(), arguments, train_dataset=data, callbacks=[Report()])
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)))


PROGRAMS: Dict[str, Callable[[Path], None]] = {
    name[len('train_with_') :]: program for name, program in globals().items() if name.startswith('train_with_')
}

if __name__ == '__main__':
    os.environ.update({'CUDA_VISIBLE_DEVICES': '', 'TF_CPP_MIN_LOG_LEVEL': '3'})
    parser = argparse.ArgumentParser()
    parser.add_argument('program', choices=sorted(PROGRAMS))
    parser.add_argument('folder', type=Path)
    arguments = parser.parse_args()
    PROGRAMS[arguments.program](arguments.folder)
