import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Requirement } from '../support/frameworks/framework-environment.ts';

/** A program of `programs/`, which saves its state while it trains and resumes from it. */
export type Program = {
  readonly name: string;
  readonly requires: readonly Requirement[];
  /** The fields of its job file that differ from those of a master and workers that run its module. */
  readonly job?: (replicas: number) => object;
  /** The role of the replicas beside the master. */
  readonly others?: 'worker' | 'evaluator';
};

const TORCHRUN = [
  'exec python -m torch.distributed.run --nnodes=$WORLD_SIZE --node-rank=$RANK --nproc-per-node=2',
  '--master-addr=$MASTER_ADDR --master-port=$MASTER_PORT -m programs.main fsdp2',
].join(' ');

export const PROGRAMS: readonly Program[] = [
  { name: 'example', requires: [] },
  { name: 'ddp', requires: ['torch'] },
  { name: 'fsdp2', requires: ['torch'] },
  { name: 'fsdp2_in_place', requires: ['torch'], job: () => ({ args: ['fsdp2', 'in-place'] }) },
  {
    name: 'torchrun',
    requires: ['torch'],
    job: () => ({ module: undefined, args: [], command: ['bash', '-c', TORCHRUN] }),
  },
  { name: 'lightning_ddp', requires: ['torch', 'lightning'] },
  {
    name: 'keras_evaluator',
    requires: ['tensorflow-cpu'],
    job: (replicas) => ({ workers: undefined, evaluators: replicas - 1 }),
    others: 'evaluator',
  },
  { name: 'orbax', requires: ['jax', 'orbax-checkpoint', 'tensorflow-cpu'] },
];

/** The package of a program: all of `programs/`, the example's trainer, and the job file. */
export async function readPackage(program: Program, job: { readonly name: string; readonly replicas: number }) {
  const example = join(import.meta.dirname, '../../examples/cluster/trainer');
  const file = {
    name: job.name,
    module: 'programs.main',
    args: [program.name],
    // The replicas share the cores of this machine, and sums in another order have other bytes.
    env: { OMP_NUM_THREADS: '1', REPLICAS: `${job.replicas}` },
    workers: job.replicas - 1,
    // A program that was killed by a signal is started again only if the job asks for it.
    retries: 1,
    ...program.job?.(job.replicas),
  };
  return {
    ...(await readModules(join(import.meta.dirname, 'programs'), 'programs')),
    ...(await readModules(example, 'trainer')),
    'job.json': JSON.stringify(file),
  };
}

async function readModules(folder: string, name: string): Promise<Record<string, Uint8Array>> {
  const modules = (await readdir(folder)).filter((file) => file.endsWith('.py'));
  const read = modules.map(async (file) => [`${name}/${file}`, await readFile(join(folder, file))] as const);
  return Object.fromEntries(await Promise.all(read));
}
