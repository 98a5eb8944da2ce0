import { findAccelerator, type Gpus, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { Dialect, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';

/** A dialect's names for the fields of a pool, relative to the pool's path, for use in remedies. */
export type MachineFields = {
  readonly machineType: string;
  readonly count: string;
  /** Prints GPUs in the dialect's syntax: `workerConfig.acceleratorConfig: {type: NVIDIA_TESLA_T4, count: 2}`. */
  readonly writeGpus: (gpus: Gpus) => string;
  /** The fields that specify GPUs. */
  readonly gpus: readonly string[];
};

const VERTEX_FIELDS: MachineFields = {
  machineType: 'machineSpec.machineType',
  count: 'replicaCount',
  writeGpus: ({ type, count }) => `acceleratorType: ${toAcceleratorEnum(type)} and acceleratorCount: ${count}`,
  gpus: ['machineSpec.acceleratorType', 'machineSpec.acceleratorCount'],
};

const DROPFORGE_FIELDS: MachineFields = {
  machineType: 'machine',
  count: 'count',
  writeGpus: ({ type, count }) => `gpu: ${count} x ${findAccelerator(type)?.label ?? type}`,
  gpus: ['gpu'],
};

export function machineFieldsOf(dialect: Dialect, { role }: PoolDraft): MachineFields {
  if (dialect !== 'ai-platform') {
    return dialect === 'vertex-ai' ? VERTEX_FIELDS : DROPFORGE_FIELDS;
  }
  const prefix = ROLE_PREFIXES[role];
  const accelerator = `${prefix}Config.acceleratorConfig`;
  return {
    machineType: `${prefix}Type`,
    count: `${prefix}Count`,
    writeGpus: ({ type, count }) => `${accelerator}: {type: ${toAcceleratorEnum(type)}, count: ${count}}`,
    gpus: [accelerator],
  };
}
