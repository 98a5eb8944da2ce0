import { readCatalog } from '#shared/catalog/catalog.ts';
import { resolveScaleTier, type ScaleTierGroup } from '#shared/catalog/scale-tiers.ts';
import { emptyPool, type JobDraft, masterOf, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import {
  type Findings,
  type Located,
  locationOf,
  reportInvalid,
  type SourceLocation,
} from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { machineFieldsOf } from '#shared/job-file/validation/machine-fields.ts';
import {
  isReplicaCount,
  isUnread,
  type Wanted,
  type WantedGroup,
  warnOfNoCount,
} from '#shared/job-file/validation/requested-group.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

const TIER_DEFAULT = 'BASIC';
const TIER_PATH = 'trainingInput.scaleTier';

/**
 * The machines of a job of AI Platform: those of its scale tier, or those that it names itself, which only the tier
 * CUSTOM allows (TrainingInput.scaleTier, masterType, workerCount, and so on).
 */
export function aiPlatformGroups(draft: JobDraft, findings: Findings): readonly Wanted[] {
  const { scaleTier } = draft;
  if (scaleTier === undefined && hasProblemAt(TIER_PATH, findings)) {
    return ['WRONG'];
  }
  const tier: Located<string> = scaleTier ?? { value: TIER_DEFAULT, path: TIER_PATH };
  if (tier.value === 'CUSTOM') {
    return customGroups(draft, tier, findings);
  }
  const groups = resolveScaleTier(tier.value);
  if (groups === undefined) {
    refuseTier(tier, findings);
    return ['WRONG'];
  }
  const own = draft.pools.flatMap(ownMachines)[0];
  if (own !== undefined) {
    const because = scaleTier === undefined ? `${tier.value}, as none is given` : tier.value;
    findings.problems.push({
      code: 'TIER_NOT_CUSTOM',
      message: `${own.path} needs the scale tier CUSTOM, but the tier is ${because}.`,
      remedy: 'Write scaleTier: CUSTOM.',
      ...locationOf(own),
    });
    // Who names machines and no tier means those; what is then missing besides is of no interest yet.
    return scaleTier === undefined ? customGroups(draft, tier, copyOf(findings)) : groups.map(toWanted);
  }
  if (scaleTier === undefined) {
    const message = `No scale tier is given: the job gets ${TIER_DEFAULT}, one machine without GPUs.`;
    const remedy = 'Write scaleTier, to be sure.';
    findings.warnings.push({ code: 'DEFAULT_SCALE_TIER', message, remedy, ...locationOf(tier) });
  }
  return groups.map(toWanted);

  function toWanted(group: ScaleTierGroup): WantedGroup {
    return groupOfTier(group, draft, tier);
  }
}

function copyOf({ problems, warnings, unsupported }: Findings): Findings {
  return { problems: [...problems], warnings: [...warnings], unsupported: [...unsupported] };
}

function refuseTier(tier: Located<string>, findings: Findings): void {
  const names = [...readCatalog().scaleTiers.map(({ name }) => name), 'CUSTOM'];
  const message = `There is no scale tier ${quote(tier.value)}.`;
  const remedy = `${didYouMean(tier.value, names)}Write ${names.slice(0, -1).join(', ')}, or CUSTOM with a masterType.`;
  reportInvalid(tier, { code: 'UNKNOWN_SCALE_TIER', message, remedy }, findings);
}

function groupOfTier(
  { role, count, machineType, accelerator }: ScaleTierGroup,
  { pools }: JobDraft,
  tier: Located<string>,
): WantedGroup {
  const place = locationOf(tier);
  return {
    role,
    count: { ...place, value: count },
    machineType: { ...place, value: machineType },
    accelerator: {
      type: accelerator === null ? undefined : { ...place, value: accelerator.type },
      count: accelerator === null ? undefined : { ...place, value: accelerator.count },
    },
    pool: pools.find((pool) => pool.role === role) ?? emptyPool(role, 'trainingInput'),
  };
}

/** What a pool says that a tier says already; in proto3 a count of 0 says nothing. */
function ownMachines({ count, machineType, accelerator }: PoolDraft): readonly SourceLocation[] {
  return [machineType, count, accelerator.type, accelerator.count].flatMap((said) =>
    said === undefined || said.value === 0 || said.value === 'ACCELERATOR_TYPE_UNSPECIFIED' ? [] : said,
  );
}

function customGroups(draft: JobDraft, tier: Located<string>, findings: Findings): readonly Wanted[] {
  const master = masterOf(draft);
  return [masterGroup(master, tier, findings), ...draft.pools.slice(1).flatMap((pool) => otherGroup(pool, findings))];
}

function masterGroup(master: PoolDraft, tier: Located<string>, findings: Findings): Wanted {
  const { role, machineType, accelerator } = master;
  if (machineType !== undefined) {
    return { role, count: { ...locationOf(machineType), value: 1 }, machineType, accelerator, pool: master };
  }
  if (!isUnread(master, 'masterType', findings)) {
    const message = 'The scale tier CUSTOM needs a masterType.';
    const remedy = 'Write masterType, such as n1-standard-8.';
    findings.problems.push({ code: 'MASTER_TYPE_MISSING', message, remedy, ...locationOf(tier) });
  }
  return 'WRONG';
}

function otherGroup(pool: PoolDraft, findings: Findings): readonly Wanted[] {
  const { role, count, machineType, accelerator } = pool;
  const fields = machineFieldsOf('ai-platform', pool);
  if (count === undefined && isUnread(pool, fields.count, findings)) {
    return ['WRONG'];
  }
  if (count === undefined || count.value === 0) {
    if (machineType ?? accelerator.type ?? accelerator.count ?? pool.program.imageUri) {
      warnOfNoCount(pool, { field: fields.count, instead: 'no such machines are started' }, findings);
    }
    return [];
  }
  if (!isReplicaCount(count, findings)) {
    return ['WRONG'];
  }
  if (machineType !== undefined) {
    return [{ role, count, machineType, accelerator, pool }];
  }
  if (!isUnread(pool, fields.machineType, findings)) {
    findings.problems.push({
      code: 'POOL_WITHOUT_TYPE',
      message: `${count.path} asks for machines, but ${fields.machineType} does not say which.`,
      remedy: `Write ${fields.machineType}, such as n1-standard-8, or remove ${fields.count}.`,
      ...locationOf(count),
    });
  }
  return ['WRONG'];
}
