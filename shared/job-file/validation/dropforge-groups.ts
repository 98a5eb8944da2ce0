import { type JobDraft, masterOf, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { machineFieldsOf, pathIn } from '#shared/job-file/validation/machine-fields.ts';
import { isReplicaCount, isUnread, type Wanted } from '#shared/job-file/validation/requested-group.ts';

/** For programs without GPUs, as AI Platform's BASIC. */
const MACHINE_TYPE_DEFAULT = 'n1-standard-4';

/** The machines of a job in Dropforge's own form, in which everything has a default. */
export function dropforgeGroups(draft: JobDraft, findings: Findings): readonly Wanted[] {
  return [groupOf(masterOf(draft), findings), ...draft.pools.slice(1).map((pool) => groupOf(pool, findings))].flat();
}

function groupOf(pool: PoolDraft, findings: Findings): readonly Wanted[] {
  const { machineType: field } = machineFieldsOf('dropforge', pool);
  const machineType = pool.machineType ?? { path: pathIn(pool, field), value: MACHINE_TYPE_DEFAULT };
  const count = pool.count ?? { ...locationOf(machineType), value: 1 };
  if (count.value === 0) {
    return [];
  }
  const isWrong =
    !isReplicaCount(count, findings) || (pool.machineType === undefined && isUnread(pool, field, findings));
  return isWrong ? ['WRONG'] : [{ role: pool.role, count, machineType, accelerator: pool.accelerator, pool }];
}
