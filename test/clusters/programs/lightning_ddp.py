"""Lightning's Trainer over several machines, with its checkpoint callback."""

import time
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from programs import run
from programs.torch_model import bytes_of, create_model, loss_of


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = create_model()

    def training_step(self, _batch: Any, _index: int) -> torch.Tensor:
        time.sleep(run.STEP_SECONDS)
        return loss_of(self.model, self.global_step, run.RANK)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)

    def on_train_start(self) -> None:
        run.resumed(self.global_step)

    def on_train_epoch_end(self) -> None:
        # The callback has saved at the end of the last batch.
        self.trainer.strategy.barrier()
        run.saved(self.global_step)


def train() -> None:
    """An epoch is as long as the time from save to save."""
    module = Module()
    folder = run.OUTPUT / 'lightning'
    trainer = lightning.Trainer(
        accelerator='cpu',
        devices=1,
        num_nodes=run.COUNT,
        # The buckets of the first step are kept, as in ddp.py.
        strategy='ddp_find_unused_parameters_true',
        max_steps=run.STEPS,
        callbacks=[ModelCheckpoint(folder, every_n_train_steps=run.SAVE_EVERY, save_last=True)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    batches = torch.utils.data.DataLoader(list(range(run.SAVE_EVERY * run.COUNT)), batch_size=1)
    trainer.fit(module, batches, ckpt_path=folder / 'last.ckpt' if (folder / 'last.ckpt').exists() else None)
    run.finished(bytes_of(module.model.parameters()))
