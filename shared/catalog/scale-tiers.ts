import { type Gpus, readCatalog } from '#shared/catalog/catalog.ts';
import type { Role } from '#shared/domain/job-spec.ts';

/** The machines of one role in a scale tier, unresolved: K80 GPUs, for example, are retired. */
export type ScaleTierGroup = {
  readonly role: Role;
  readonly count: number;
  readonly machineType: string;
  readonly accelerator: Gpus | null;
};

/**
 * The machines of an AI Platform scale tier, the master first (TrainingInput.scaleTier). Undefined for an unknown tier,
 * and for CUSTOM, whose machines are in the job file.
 */
export function resolveScaleTier(name: string): readonly ScaleTierGroup[] | undefined {
  return readCatalog().scaleTiers.find((tier) => tier.name === name)?.groups;
}
