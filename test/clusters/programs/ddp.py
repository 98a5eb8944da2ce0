"""DistributedDataParallel: the master rewrites one file in place, and every replica reads it."""

import torch
import torch.distributed

from programs import run
from programs.torch_model import bytes_of, create_model, loss_of, take_step


def train() -> None:
    torch.distributed.init_process_group('gloo')
    # This keeps the buckets of the first step, whose order is that of the sums: bytes are compared.
    model = torch.nn.parallel.DistributedDataParallel(create_model(), find_unused_parameters=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    file = run.OUTPUT / 'checkpoint.pt'
    first = 0
    if file.exists():
        state = torch.load(file)
        model.load_state_dict(state['model'])
        optimizer.load_state_dict(state['optimizer'])
        first = state['step']
    run.resumed(first)
    for step in run.steps(first):
        take_step(model, optimizer, loss_of(model, step, run.RANK))
        if run.is_saved(step):
            if run.RANK == 0:
                torch.save({'step': step, 'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, file)
            torch.distributed.barrier()
            run.saved(step)
    run.finished(bytes_of(model.parameters()))
