"""JAX over several processes with Orbax, whose processes must see each other's files at once: in the job directory."""

import os

import jax
import numpy
import orbax.checkpoint as ocp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from orbax.checkpoint._src.path import gcs_utils

from programs import run

SIZE = 240


def create(mesh: Mesh, step: int) -> jax.Array:
    sharding = NamedSharding(mesh, PartitionSpec('data'))
    return jax.make_array_from_callback((SIZE,), sharding, lambda index: numpy.full(SIZE, step, 'float32')[index])


@jax.jit
def advance(weights: jax.Array, step: int) -> jax.Array:
    return weights + 0.1 * (jax.numpy.sin(jax.numpy.arange(SIZE) * step) - weights.mean())


def train() -> None:
    address = f'{os.environ["MASTER_ADDR"]}:{os.environ["MASTER_PORT"]}'
    jax.distributed.initialize(address, num_processes=run.COUNT, process_id=run.RANK)
    try:
        from google.cloud import storage as _
    except ImportError:
        # Orbax asks this client only whether the bucket has a hierarchical namespace.
        gcs_utils.is_hierarchical_namespace_enabled = lambda *_: False
    mesh = Mesh(numpy.array(jax.devices()), ('data',))
    weights, first = create(mesh, 0), 0
    with ocp.CheckpointManager(f'{run.SHARED}/orbax', options=ocp.CheckpointManagerOptions(max_to_keep=2)) as manager:
        if manager.latest_step() is not None:
            first = manager.latest_step() or 0
            weights = manager.restore(first, args=ocp.args.StandardRestore({'w': weights}))['w']
        run.resumed(first)
        for step in run.steps(first):
            weights = advance(weights, step)
            if run.is_saved(step):
                manager.save(step, args=ocp.args.StandardSave({'w': weights}))
                manager.wait_until_finished()
                run.saved(step)
    run.finished([multihost_utils.process_allgather(weights, tiled=True).tobytes()])
