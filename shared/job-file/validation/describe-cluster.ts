import type { Role } from '#shared/domain/job-spec.ts';
import type { Count, Dialect } from '#shared/job-file/draft/job-draft.ts';
import type { AskedGroup } from '#shared/job-file/validation/check-machines.ts';

/**
 * Machines by role, as `jobs validate` prints them: `{ master: ['n1-standard-8', { NVIDIA_TESLA_T4: 1 }], worker: [9,
 * 'n1-highcpu-16', {}] }`. Before the machine type stands how many there are; the master is alone, and only in Vertex
 * AI's dialect is its count given, as in its files. A TPU's topology comes last: `{ tpuTopology: '4x4' }`.
 */
export type Cluster = Readonly<Partial<Record<Role, readonly (Count | Readonly<Record<string, Count>>)[]>>>;

export function describeCluster(dialect: Dialect, asked: readonly AskedGroup[]): Cluster {
  return Object.fromEntries(
    asked.map(({ role, count, machineType, gpus, tpuTopology }) => [
      role,
      [
        ...(role === 'master' && dialect !== 'vertex-ai' ? [] : [count]),
        machineType,
        gpus,
        ...(tpuTopology === null ? [] : [{ tpuTopology }]),
      ],
    ]),
  );
}
