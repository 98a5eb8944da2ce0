import type { HealthFinding } from '#shared/domain/health.ts';
import type { Warning } from '#shared/domain/job.ts';
import type { ReplicaUsage } from '#shared/domain/replica.ts';

/** The knowledge of the job beyond its last lines, for the numbers of a remedy. */
export type JobFacts = {
  readonly jobId: string;
  /** Arguments of the program. */
  readonly args: readonly string[];
  /** The VM on which the program failed; null if unknown. */
  readonly machine: {
    readonly machineType: string;
    readonly accelerator: { readonly type: string; readonly count: number } | null;
  } | null;
  readonly bootDiskGib: number | null;
  /** The last measurements before the exit. */
  readonly usage: ReplicaUsage | null;
  readonly health: readonly HealthFinding[];
  /** Findings of the package checks when the job was submitted. */
  readonly warnings: readonly Warning[];
  /** Machines with more memory for GPU or host, as a user writes them: `2 x nvidia-tesla-t4 on n1-standard-16`. */
  readonly moreGpuMemory: readonly string[];
  readonly moreMemory: readonly string[];
};

/** An argument that sets the batch size, with its value. */
export type BatchSize = { readonly name: string; readonly size: number };

const BATCH_NAME =
  /^-{0,2}(?:per[-_]device[-_])?(?:train(?:ing)?[-_])?(?:micro[-_])?batch[-_]?size(?:[-_]per[-_](?:gpu|device|replica))?$/i;
const BATCH_SIZE_MAX = 1_000_000;

/** `--batch-size 256`, `--batch_size=256`, `per_device_train_batch_size=16` and the like; undefined if there is none. */
export function findBatchSize(args: readonly string[]): BatchSize | undefined {
  for (const [index, arg] of args.entries()) {
    const equals = arg.indexOf('=');
    const name = equals === -1 ? arg : arg.slice(0, equals);
    const value = equals === -1 ? args[index + 1] : arg.slice(equals + 1);
    if (BATCH_NAME.test(name) && /^\d{1,7}$/.test(value ?? '')) {
      const size = Number(value);
      if (size > 0 && size <= BATCH_SIZE_MAX) {
        return { name, size };
      }
    }
  }
  return undefined;
}
