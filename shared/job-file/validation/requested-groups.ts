import { readCatalog, resolveScaleTier, type ScaleTierGroup } from '#shared/catalog/catalog.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import {
  type AcceleratorDraft,
  type Count,
  type Dialect,
  emptyPool,
  fieldPath,
  type JobDraft,
  masterOf,
  type PoolDraft,
} from '#shared/job-file/draft/job-draft.ts';
import {
  createFindings,
  type Findings,
  type Located,
  locationOf,
  reportInvalid,
  type SourceLocation,
} from '#shared/job-file/parser/findings.ts';
import { joinPath } from '#shared/job-file/parser/open-mapping.ts';
import { hasProblemAt, quote, rejectMissing } from '#shared/job-file/parser/record-findings.ts';
import { machineFieldsOf } from '#shared/job-file/validation/machine-fields.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** The machines of one role as a job file of any dialect requests them; each value has its location. */
export type RequestedGroup = {
  readonly role: Role;
  readonly count: Located<Count>;
  readonly machineType: Located<string>;
  readonly accelerator: AcceleratorDraft;
  /** The pool's other settings. */
  readonly pool: PoolDraft;
};

/** INVALID if the machine type or count is missing or invalid; the findings say why. */
export type Requested = RequestedGroup | 'INVALID';

const GROUPS_OF: Readonly<Record<Dialect, (draft: JobDraft, findings: Findings) => readonly Requested[]>> = {
  'ai-platform': aiPlatformGroups,
  'vertex-ai': vertexGroups,
  dropforge: dropforgeGroups,
};

/** The machines that a job requests, by role, the master's first. */
export function requestedGroups(draft: JobDraft, findings: Findings): readonly Requested[] {
  return GROUPS_OF[draft.dialect](draft, findings);
}

/**
 * Whether a field of the pool, or a mapping that contains it, could not be read. Its problem is already reported, so
 * the field is not reported as missing as well.
 */
export function isUnread(pool: PoolDraft, field: string, findings: Findings): boolean {
  const path = joinPath(pool.path, field);
  const isInsideUnread = findings.problems.some(
    ({ code, path: outer = '' }) =>
      code === 'WRONG_TYPE' && outer !== '' && path.startsWith(outer) && ['.', '['].includes(path.charAt(outer.length)),
  );
  return isInsideUnread || hasProblemAt(path, findings);
}

/** Reports a negative number of replicas. The text of a placeholder is valid here: it is reported elsewhere. */
function isReplicaCount(count: Located<Count>, findings: Findings): boolean {
  if (typeof count.value === 'string' || count.value >= 0) {
    return true;
  }
  const message = `${count.path} must be 0 or more, but is ${count.value}.`;
  reportInvalid(count, { code: 'INVALID_COUNT', message, remedy: 'Write the number of machines.' }, findings);
  return false;
}

type NoCount = { readonly field: string; readonly consequence: string };

/** Warns about a pool that has settings but no count. */
function warnOfNoCount(pool: PoolDraft, { field, consequence }: NoCount, findings: Findings): void {
  const given = pool.machineType ?? pool.accelerator.type ?? pool.accelerator.count ?? pool.program.imageUri;
  const location = locationOf(given ?? pool.count ?? { path: pool.path });
  const message = `${joinPath(pool.path, field)} is 0 or missing: ${consequence}.`;
  const remedy = `Write ${field}, or remove the other settings of these machines.`;
  findings.warnings.push({ code: 'POOL_WITHOUT_COUNT', message, remedy, ...location });
}

/** For programs without GPUs; the machine type of AI Platform's tier BASIC. */
const DROPFORGE_MACHINE_TYPE_DEFAULT = 'n1-standard-4';

/** Dropforge's dialect has a default for every field. */
function dropforgeGroups(draft: JobDraft, findings: Findings): readonly Requested[] {
  return [masterOf(draft), ...draft.pools.slice(1)].flatMap((pool) => dropforgeGroup(pool, findings));
}

function dropforgeGroup(pool: PoolDraft, findings: Findings): readonly Requested[] {
  const { machineType: field } = machineFieldsOf('dropforge', pool);
  const machineType = pool.machineType ?? { path: joinPath(pool.path, field), value: DROPFORGE_MACHINE_TYPE_DEFAULT };
  const count = pool.count ?? { ...locationOf(machineType), value: 1 };
  if (count.value === 0) {
    return [];
  }
  const isInvalid =
    !isReplicaCount(count, findings) || (pool.machineType === undefined && isUnread(pool, field, findings));
  return isInvalid ? ['INVALID'] : [{ role: pool.role, count, machineType, accelerator: pool.accelerator, pool }];
}

/**
 * Vertex AI's worker pools (CustomJobSpec.workerPoolSpecs; Vertex AI, "Distributed training"): the first pool has one
 * replica, and an empty pool is skipped.
 */
function vertexGroups(draft: JobDraft, findings: Findings): readonly Requested[] {
  const others = draft.pools.slice(1).filter((pool) => !isEmptyPool(pool));
  return [vertexPrimary(masterOf(draft), findings), ...others.flatMap((pool) => vertexSecondary(pool, findings))];
}

function isEmptyPool({ count, machineType, accelerator, tpuTopology, bootDiskGib, bootDiskType, ...pool }: PoolDraft) {
  const { environment, ...program } = pool.program;
  const machine = [count, machineType, accelerator.type, accelerator.count, tpuTopology, bootDiskGib, bootDiskType];
  const values = [...machine, pool.reservation, ...Object.values(program)];
  return environment.length === 0 && values.every((value) => value === undefined);
}

function vertexPrimary(pool: PoolDraft, findings: Findings): Requested {
  const count = pool.count ?? { path: joinPath(pool.path, machineFieldsOf('vertex-ai', pool).count), value: 1 };
  if (typeof count.value === 'number' && count.value !== 1) {
    const others = count.value > 1 ? `, and move the other ${count.value - 1} to a second pool` : '';
    const text = {
      code: 'FIRST_POOL_COUNT',
      message: `The first worker pool is the primary replica and must have exactly one replica, not ${count.value}.`,
      remedy: `Write replicaCount: 1${others}.`,
    };
    reportInvalid(count, text, findings);
  }
  return vertexGroup(pool, count, findings);
}

function vertexSecondary(pool: PoolDraft, findings: Findings): readonly Requested[] {
  const { count } = pool;
  const field = machineFieldsOf('vertex-ai', pool).count;
  if (count === undefined) {
    if (isUnread(pool, field, findings)) {
      return ['INVALID'];
    }
    warnOfNoCount(pool, { field, consequence: 'the pool gets one replica' }, findings);
    return [vertexGroup(pool, { path: joinPath(pool.path, field), value: 1 }, findings)];
  }
  if (count.value === 0) {
    warnOfNoCount(pool, { field, consequence: 'no such machines are started' }, findings);
    return [];
  }
  return isReplicaCount(count, findings) ? [vertexGroup(pool, count, findings)] : ['INVALID'];
}

function vertexGroup(pool: PoolDraft, count: Located<Count>, findings: Findings): Requested {
  const { role, machineType, accelerator } = pool;
  if (machineType !== undefined) {
    return { role, count, machineType, accelerator, pool };
  }
  const field = machineFieldsOf('vertex-ai', pool).machineType;
  if (!isUnread(pool, field, findings)) {
    const path = pool.path === '' ? fieldPath('vertex-ai', 'machineType') : joinPath(pool.path, field);
    rejectMissing(path, 'Write the machine type of its replicas, such as n1-standard-8.', findings);
  }
  return 'INVALID';
}

const TIER_DEFAULT = 'BASIC';
const TIER_PATH = 'trainingInput.scaleTier';

/**
 * AI Platform's machines: those of the scale tier, or those that the job names itself, which only the tier CUSTOM
 * allows (TrainingInput.scaleTier, masterType, workerCount, and so on).
 */
function aiPlatformGroups(draft: JobDraft, findings: Findings): readonly Requested[] {
  const { scaleTier } = draft;
  if (scaleTier === undefined && hasProblemAt(TIER_PATH, findings)) {
    return ['INVALID'];
  }
  const tier: Located<string> = scaleTier ?? { value: TIER_DEFAULT, path: TIER_PATH };
  if (tier.value === 'CUSTOM') {
    return customGroups(draft, tier, findings);
  }
  const groups = resolveScaleTier(tier.value);
  if (groups === undefined) {
    rejectTier(tier, findings);
    return ['INVALID'];
  }
  const own = draft.pools.flatMap(ownMachines)[0];
  if (own !== undefined) {
    const because = scaleTier === undefined ? `${tier.value}, the default` : tier.value;
    findings.problems.push({
      code: 'TIER_NOT_CUSTOM',
      message: `${own.path} requires the scale tier CUSTOM, but the tier is ${because}.`,
      remedy: 'Write scaleTier: CUSTOM.',
      ...locationOf(own),
    });
    // Machines without a tier mean CUSTOM; further problems of the custom machines are not reported until it is given.
    return scaleTier === undefined ? customGroups(draft, tier, createFindings(findings)) : groups.map(toRequested);
  }
  return groups.map(toRequested);

  function toRequested(group: ScaleTierGroup): RequestedGroup {
    return groupOfTier(group, draft, tier);
  }
}

function rejectTier(tier: Located<string>, findings: Findings): void {
  const names = [...readCatalog().scaleTiers.map(({ name }) => name), 'CUSTOM'];
  const message = `${quote(tier.value)} is not a scale tier.`;
  const remedy = `${didYouMean(tier.value, names)}Write ${names.slice(0, -1).join(', ')}, or CUSTOM with a masterType.`;
  reportInvalid(tier, { code: 'UNKNOWN_SCALE_TIER', message, remedy }, findings);
}

function groupOfTier(
  { role, count, machineType, accelerator }: ScaleTierGroup,
  { pools }: JobDraft,
  tier: Located<string>,
): RequestedGroup {
  const location = locationOf(tier);
  return {
    role,
    count: { ...location, value: count },
    machineType: { ...location, value: machineType },
    accelerator: {
      type: accelerator === null ? undefined : { ...location, value: accelerator.type },
      count: accelerator === null ? undefined : { ...location, value: accelerator.count },
    },
    pool: pools.find((pool) => pool.role === role) ?? emptyPool(role, 'trainingInput'),
  };
}

/** Fields of a pool that conflict with a scale tier; in proto3 a count of 0 is the same as no count. */
function ownMachines({ count, machineType, accelerator }: PoolDraft): readonly SourceLocation[] {
  return [machineType, count, accelerator.type, accelerator.count].flatMap((field) =>
    field === undefined || field.value === 0 || field.value === 'ACCELERATOR_TYPE_UNSPECIFIED' ? [] : field,
  );
}

function customGroups(draft: JobDraft, tier: Located<string>, findings: Findings): readonly Requested[] {
  const others = draft.pools.slice(1).flatMap((pool) => customGroup(pool, findings));
  return [customMaster(masterOf(draft), tier, findings), ...others];
}

function customMaster(master: PoolDraft, tier: Located<string>, findings: Findings): Requested {
  const { role, machineType, accelerator } = master;
  if (machineType !== undefined) {
    return { role, count: { ...locationOf(machineType), value: 1 }, machineType, accelerator, pool: master };
  }
  if (!isUnread(master, 'masterType', findings)) {
    const message = 'The scale tier CUSTOM requires a masterType.';
    const remedy = 'Write masterType (--master-machine-type), such as n1-standard-8.';
    findings.problems.push({ code: 'MASTER_TYPE_MISSING', message, remedy, ...locationOf(tier) });
  }
  return 'INVALID';
}

function customGroup(pool: PoolDraft, findings: Findings): readonly Requested[] {
  const { role, count, machineType, accelerator } = pool;
  const fields = machineFieldsOf('ai-platform', pool);
  if (count === undefined && isUnread(pool, fields.count, findings)) {
    return ['INVALID'];
  }
  if (count === undefined || count.value === 0) {
    if (machineType ?? accelerator.type ?? accelerator.count ?? pool.program.imageUri) {
      warnOfNoCount(pool, { field: fields.count, consequence: 'no such machines are started' }, findings);
    }
    return [];
  }
  if (!isReplicaCount(count, findings)) {
    return ['INVALID'];
  }
  if (machineType !== undefined) {
    return [{ role, count, machineType, accelerator, pool }];
  }
  if (!isUnread(pool, fields.machineType, findings)) {
    findings.problems.push({
      code: 'POOL_WITHOUT_TYPE',
      message: `${count.path} requests machines, but ${fields.machineType} is missing.`,
      remedy: `Write ${fields.machineType}, such as n1-standard-8, or remove ${fields.count}.`,
      ...locationOf(count),
    });
  }
  return ['INVALID'];
}
