import { type Gpus, readCatalog } from '#shared/catalog/catalog.ts';
import type { Role } from '#shared/domain/job-spec.ts';

/** Machines of one kind in a scale tier. Its type and GPUs are to be resolved: a K80 is no longer to be had. */
export type ScaleTierGroup = {
  readonly role: Role;
  readonly count: number;
  readonly machineType: string;
  readonly accelerator: Gpus | null;
};

/**
 * What a scale tier of AI Platform is made of, the master first (TrainingInput.scaleTier). Undefined where there is no
 * such tier, and for CUSTOM, which is what the job says it is.
 */
export function resolveScaleTier(name: string): readonly ScaleTierGroup[] | undefined {
  return readCatalog().scaleTiers.find((tier) => tier.name === name)?.groups;
}
