"""
Trains on a cluster: `python -m trainer.task --steps 200`. Every replica has a part of the parameters and saves it as a
shard; the replicas exchange their losses after each step.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path

from trainer.checkpoint import delete_others, read_last, shard_name, write_index, write_json
from trainer.peers import Peers


def main() -> None:
    flags = parse_flags()
    peers = Peers()
    folder = Path(os.environ.get('DROPFORGE_OUTPUT_DIR', 'output')) / 'checkpoints'
    # The replicas have the same files. The master decides, so that they begin with the same step in any case.
    first, parameters = peers.broadcast(read_last(folder) or (0, [0.0] * flags.parameters))
    steps = first + flags.more_steps if first and flags.more_steps else flags.steps
    start, end = (len(parameters) * rank // peers.count for rank in (peers.rank, peers.rank + 1))
    shard = parameters[start:end]
    print(f'Replica {peers.rank} of {peers.count} has parameters {start} to {end} at step {first}.', flush=True)
    for step in range(first + 1, steps + 1):
        loss = descend(shard, start, flags.learning_rate)
        if not math.isfinite(loss):
            raise ValueError(f'the loss of replica {peers.rank} in step {step} is {loss}')
        report(step, steps, peers.gather(loss))
        time.sleep(flags.step_seconds)
        if step % flags.save_every == 0 or step == steps:
            save(peers, folder, step, shard)


def descend(shard: list[float], start: int, learning_rate: float) -> float:
    """Moves each parameter towards the sine of its number; returns the sum of squares before."""
    errors = [number - math.sin(start + offset) for offset, number in enumerate(shard)]
    shard[:] = [number - learning_rate * error for number, error in zip(shard, errors)]
    return sum(error * error for error in errors)


def save(peers: Peers, folder: Path, step: int, shard: list[float]) -> None:
    """The index comes last, when every shard is written; then older shards are deleted."""
    name = shard_name(step, peers.rank, peers.count)
    write_json(folder / name, shard)
    saved = peers.gather(name)
    kept = write_index(folder, step, saved) if peers.rank == 0 else None
    delete_others(folder, peers.broadcast(kept))


def report(step: int, steps: int, losses: list[float]) -> None:
    """The master has the losses of all replicas."""
    if losses and 'DROPFORGE_METRICS_FILE' in os.environ:
        with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
            file.write(json.dumps({'step': step, 'steps': steps, 'loss': sum(losses)}) + '\n')


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Trains one vector of parameters on a cluster.')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--more-steps', type=int, default=0, help='so many after a checkpoint, in place of --steps')
    parser.add_argument('--step-seconds', type=float, default=0.02, help='how long a step takes')
    parser.add_argument('--save-every', type=int, default=10, help='steps from checkpoint to checkpoint')
    parser.add_argument('--parameters', type=int, default=1_000, help='of all replicas together')
    parser.add_argument('--learning-rate', type=float, default=0.05)
    return parser.parse_args()


if __name__ == '__main__':
    main()
