"""
FSDP2 with torch.distributed.checkpoint: every rank writes its shard, and rank 0 the index, last. With `in-place`, all
saves are in one directory, whose shards are rewritten while the old index is still there.
"""

import shutil
from pathlib import Path
from typing import Any, Dict

import torch
import torch.distributed
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict
from torch.distributed.checkpoint.state_dict import set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from programs import run
from programs.torch_model import bytes_of, create_model, loss_of, take_step

KEPT_COUNT = 2


class Trainer:
    def __init__(self) -> None:
        torch.distributed.init_process_group('gloo')
        self.rank = torch.distributed.get_rank()
        self.model = create_model()
        fully_shard(self.model, mesh=init_device_mesh('cpu', (torch.distributed.get_world_size(),)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.step = 0

    def state(self) -> Dict[str, Any]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {'model': model, 'optimizer': optimizer, 'step': torch.tensor(self.step)}

    def save(self, folder: Path) -> None:
        dcp.save(self.state(), checkpoint_id=folder)
        torch.distributed.barrier()

    def load(self, folder: Path) -> None:
        state = self.state()
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state['model'], optim_state_dict=state['optimizer']
        )
        self.step = int(state['step'])


def choose(folder: Path) -> Path:
    """Returns the newest checkpoint that rank 0 finds, on every rank."""
    steps = [int(path.parent.name[len('step-') :]) for path in folder.glob('step-*/.metadata')]
    chosen = [max(steps, default=0)]
    torch.distributed.broadcast_object_list(chosen)
    return folder / f'step-{chosen[0]}'


def train(mode: str = '') -> None:
    trainer, folder = Trainer(), run.OUTPUT / 'dcp'
    last = folder / 'last' if mode == 'in-place' else choose(folder)
    found = [(last / '.metadata').exists()]
    torch.distributed.broadcast_object_list(found)
    if found[0]:
        trainer.load(last)
    run.resumed(trainer.step)
    for trainer.step in run.steps(trainer.step):
        take_step(trainer.model, trainer.optimizer, loss_of(trainer.model, trainer.step, trainer.rank))
        if run.is_saved(trainer.step):
            trainer.save(last if mode == 'in-place' else folder / f'step-{trainer.step}')
            if run.IS_FIRST:
                shutil.rmtree(folder / f'step-{trainer.step - KEPT_COUNT * run.SAVE_EVERY}', ignore_errors=True)
            run.saved(trainer.step)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    run.finished(bytes_of(get_model_state_dict(trainer.model, options=options).values()))
