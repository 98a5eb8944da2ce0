"""
FSDP2 with torch.distributed.checkpoint: every rank writes its shard, and rank 0 the index, last. With `in-place`, all
saves are in one directory, whose shards are rewritten while the old index is still there.
"""

import shutil
from typing import Any, Dict

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from programs import run
from programs.torch_model import bytes_of, create_model, loss_of, take_step

FOLDER, KEPT_COUNT = run.OUTPUT / 'dcp', 2


def state_of(model: Any, optimizer: torch.optim.Optimizer, step: int) -> Dict[str, Any]:
    weights, moments = state_dict.get_state_dict(model, optimizer)
    return {'model': weights, 'optimizer': moments, 'step': torch.tensor(step)}


def train(mode: str = '') -> None:
    dist.init_process_group('gloo')
    model = create_model()
    fully_shard(model, mesh=init_device_mesh('cpu', (dist.get_world_size(),)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    # The first rank chooses the newest checkpoint for all.
    indexes = sorted(FOLDER.glob('*/.metadata'), key=lambda path: path.stat().st_mtime)
    found = [path.parent.name for path in indexes[-1:]] or ['']
    dist.broadcast_object_list(found)
    first = 0
    if found[0]:
        state = state_of(model, optimizer, 0)
        dcp.load(state, checkpoint_id=FOLDER / found[0])
        weights, moments = state['model'], state['optimizer']
        state_dict.set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
        first = int(state['step'])
    run.resumed(first)
    for step in run.steps(first):
        take_step(model, optimizer, loss_of(model, step, dist.get_rank()))
        if run.is_saved(step):
            name = 'last' if mode == 'in-place' else f'step-{step}'
            dcp.save(state_of(model, optimizer, step), checkpoint_id=FOLDER / name)
            dist.barrier()
            if run.IS_FIRST:
                shutil.rmtree(FOLDER / f'step-{step - KEPT_COUNT * run.SAVE_EVERY}', ignore_errors=True)
            run.saved(step)
    options = state_dict.StateDictOptions(full_state_dict=True, cpu_offload=True)
    run.finished(bytes_of(state_dict.get_model_state_dict(model, options=options).values()))
    # A rank that ends early would break the last exchange of the others.
    dist.barrier()
    dist.destroy_process_group()
