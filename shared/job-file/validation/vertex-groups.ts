import { fieldPath } from '#shared/job-file/draft/field-paths.ts';
import { type Count, type JobDraft, masterOf, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { machineFieldsOf, pathIn } from '#shared/job-file/validation/machine-fields.ts';
import {
  isReplicaCount,
  isUnread,
  type Wanted,
  type WantedGroup,
  warnOfNoCount,
} from '#shared/job-file/validation/requested-group.ts';

/**
 * The machines of a job of Vertex AI, pool by pool (CustomJobSpec.workerPoolSpecs; Vertex AI, "Distributed training"):
 * the first pool has one replica, and a pool about which nothing is said is passed over.
 */
export function vertexGroups(draft: JobDraft, findings: Findings): readonly Wanted[] {
  const others = draft.pools.slice(1).filter((pool) => !saysNothing(pool));
  return [firstGroup(masterOf(draft), findings), ...others.flatMap((pool) => otherGroup(pool, findings))];
}

function saysNothing({ count, machineType, accelerator, tpuTopology, bootDiskGib, bootDiskType, ...pool }: PoolDraft) {
  const { environment, ...program } = pool.program;
  const said = [count, machineType, accelerator.type, accelerator.count, tpuTopology, bootDiskGib, bootDiskType];
  const saidOfProgram = [...said, pool.reservation, ...Object.values(program)];
  return environment.length === 0 && saidOfProgram.every((value) => value === undefined);
}

function firstGroup(pool: PoolDraft, findings: Findings): Wanted {
  const count = pool.count ?? { path: pathIn(pool, machineFieldsOf('vertex-ai', pool).count), value: 1 };
  if (typeof count.value === 'number' && count.value !== 1) {
    const others = count.value > 1 ? `, and those of the other ${count.value - 1} into a second pool` : '';
    const words = {
      code: 'FIRST_POOL_COUNT',
      message: `The first worker pool is the primary replica's and has one replica, not ${count.value}.`,
      remedy: `Write replicaCount: 1${others}.`,
    };
    reportInvalid(count, words, findings);
  }
  return groupOf(pool, count, findings);
}

function otherGroup(pool: PoolDraft, findings: Findings): readonly Wanted[] {
  const { count } = pool;
  const field = machineFieldsOf('vertex-ai', pool).count;
  if (count === undefined) {
    if (isUnread(pool, field, findings)) {
      return ['WRONG'];
    }
    warnOfNoCount(pool, { field, instead: 'the pool is taken to have one replica' }, findings);
    return [groupOf(pool, { path: pathIn(pool, field), value: 1 }, findings)];
  }
  if (count.value === 0) {
    warnOfNoCount(pool, { field, instead: 'no such machines are started' }, findings);
    return [];
  }
  return isReplicaCount(count, findings) ? [groupOf(pool, count, findings)] : ['WRONG'];
}

function groupOf(pool: PoolDraft, count: Located<Count>, findings: Findings): WantedGroup | 'WRONG' {
  const { role, machineType, accelerator } = pool;
  if (machineType !== undefined) {
    return { role, count, machineType, accelerator, pool };
  }
  const field = machineFieldsOf('vertex-ai', pool).machineType;
  if (!isUnread(pool, field, findings)) {
    const path = pool.path === '' ? fieldPath('vertex-ai', 'machineType') : pathIn(pool, field);
    const remedy = 'Write the machine type of its replicas, such as n1-standard-8.';
    findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, path });
  }
  return 'WRONG';
}
