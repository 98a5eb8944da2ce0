import { findMachineType, type Machine } from '#shared/catalog/catalog.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';
import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import { type Dialect, fieldPath, type JobDraft, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { addOnce, quote } from '#shared/job-file/parser/record-findings.ts';
import type { PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
import { warnOfAssembly } from '#shared/job-file/validation/warn-of-assembly.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/**
 * Scheduling.strategy of AI Platform, which never documented it beyond its values, and of Vertex AI
 * (custom_job.proto).
 */
const STRATEGIES: Readonly<Record<string, ProvisioningModel>> = {
  STRATEGY_UNSPECIFIED: 'STANDARD',
  ON_DEMAND: 'STANDARD',
  STANDARD: 'STANDARD',
  LOW_COST: 'SPOT',
  SPOT: 'SPOT',
  FLEX_START: 'FLEX_START',
};

/**
 * The name of a provisioning model in a dialect: a strategy, or for Dropforge the whole line. Empty if the dialect
 * cannot express it.
 */
const STRATEGY_NAMES: Readonly<Record<Dialect, Readonly<Record<ProvisioningModel, string>>>> = {
  'ai-platform': { STANDARD: 'ON_DEMAND', SPOT: 'LOW_COST', FLEX_START: '' },
  'vertex-ai': { STANDARD: 'STANDARD', SPOT: 'SPOT', FLEX_START: 'FLEX_START' },
  dropforge: { STANDARD: 'spot: false', SPOT: 'spot: true (as a flag, --spot)', FLEX_START: 'flexStart: true' },
};

const MODEL_PHRASES = { STANDARD: 'on demand', SPOT: 'as a Spot VM', FLEX_START: 'with FLEX_START' } as const;

const FLEX_START_DAYS_MAX = 7;

/** The provisioning model of the job's VMs; null if it, or a group's own, is invalid or not available for machines. */
export function checkProvisioning(
  draft: JobDraft,
  machines: readonly PlannedGroup[] | null,
  findings: Findings,
): ProvisioningModel | null {
  const model = readStrategy(draft, findings);
  if (model === null) {
    return null;
  }
  const vms = machines?.filter(({ isTpu }) => !isTpu) ?? [];
  const areAvailable = vms
    .map((group) => isAvailable(group, { draft, model: ownModelOf(group.pool, model) ?? model }, findings))
    .every(Boolean);
  const isFlexStartValid = model !== 'FLEX_START' || checkFlexStart(draft, vms, findings);
  if (model === 'FLEX_START' && isFlexStartValid) {
    warnOfAssembly(draft, vms, findings);
  }
  return areAvailable && isFlexStartValid ? model : null;
}

/** The provisioning model of a group that has another one than the job; null for the job's. */
export function ownModelOf({ spot }: PoolDraft, model: ProvisioningModel | null): ProvisioningModel | null {
  if (spot?.value === true) {
    return model === 'SPOT' ? null : 'SPOT';
  }
  return spot !== undefined && model === 'SPOT' ? 'STANDARD' : null;
}

function readStrategy({ dialect, strategy }: JobDraft, findings: Findings): ProvisioningModel | null {
  if (strategy === undefined) {
    return 'STANDARD';
  }
  const { value } = strategy;
  const model = Object.hasOwn(STRATEGIES, value) ? STRATEGIES[value] : undefined;
  if (model === undefined) {
    const names = Object.values(STRATEGY_NAMES[dialect]).filter((name) => name !== '');
    const message = `${quote(value)} is not a scheduling strategy.`;
    const remedy = `${didYouMean(value, names)}Write ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.`;
    reportInvalid(strategy, { code: 'UNKNOWN_STRATEGY', message, remedy }, findings);
    return null;
  }
  return model;
}

type Provisioning = { readonly draft: JobDraft; readonly model: ProvisioningModel };

/**
 * Whether a machine type is available with a provisioning model (Compute Engine, "GPU machine types"). A reservation
 * can provide machines that are not available on demand; Spot VMs and Flex-start VMs do not consume reservations
 * ("Consume a reserved instance").
 */
function isAvailable({ machine, pool }: PlannedGroup, { draft, model }: Provisioning, findings: Findings): boolean {
  const isReserved = pool.reservation?.type?.value === 'SPECIFIC_RESERVATION';
  const location = locationOf(
    pool.spot ?? pool.machineType ?? draft.scaleTier ?? { path: fieldPath(draft.dialect, 'machineType') },
  );
  if (isReserved && model !== 'STANDARD') {
    const what = model === 'SPOT' ? 'Spot VMs' : 'VMs with FLEX_START';
    const message = `${what} cannot consume a reservation.`;
    const remedy = `Remove the reservation or ${pool.spot?.path ?? 'the strategy'}.`;
    const where = pool.reservation?.type ?? pool.machineType ?? location;
    addOnce(findings.problems, { code: 'RESERVATION_NOT_USABLE', message, remedy, ...locationOf(where) });
    return false;
  }
  const models = findMachineType(machine.machineType)?.provisioningModels ?? [model];
  if (models.includes(model) || isReserved) {
    return true;
  }
  const code = models.length === 0 ? 'RESERVATION_NEEDED' : 'WRONG_PROVISIONING_MODEL';
  const how = models.length === 0 ? 'without a reservation' : MODEL_PHRASES[model];
  const message = `${machine.machineType} is not available ${how}.`;
  const remedy = pool.spot && `Remove ${pool.spot.path}, or choose another machine type.`;
  addOnce(findings.problems, { code, message, remedy: remedy ?? suggestModels(models, draft.dialect), ...location });
  return false;
}

function suggestModels(models: readonly ProvisioningModel[], dialect: Dialect): string {
  const names = models.map((model) => STRATEGY_NAMES[dialect][model]).filter((name) => name !== '');
  if (names.length > 0) {
    const field = dialect === 'dropforge' ? '' : `${fieldPath(dialect, 'strategy')}: `;
    return `Write ${field}${names.join(' or ')}, or choose another machine type.`;
  }
  const field = dialect === 'vertex-ai' ? 'reservationAffinity' : 'reservation';
  return models.length > 0 || dialect === 'ai-platform'
    ? 'Choose another machine type.'
    : `Name one of your reservations in ${field}, or choose another machine type.`;
}

/**
 * Vertex AI, "Schedule training jobs based on resource availability": one machine configuration, for at most 7 days.
 */
function checkFlexStart(
  { maxRunningTime, strategy }: JobDraft,
  groups: readonly PlannedGroup[],
  findings: Findings,
): boolean {
  const before = findings.problems.length;
  if (maxRunningTime !== undefined && (parseDurationMs(maxRunningTime.value) ?? 0) > FLEX_START_DAYS_MAX * 86_400_000) {
    const message = `With FLEX_START a job can run for at most ${FLEX_START_DAYS_MAX} days, but ${maxRunningTime.path} is ${maxRunningTime.value}.`;
    const remedy = `Write ${FLEX_START_DAYS_MAX * 86_400}s or less.`;
    findings.problems.push({ code: 'FLEX_START_TOO_LONG', message, remedy, ...locationOf(maxRunningTime) });
  }
  const spot = groups.find(({ pool }) => pool.spot?.value === true)?.pool.spot;
  if (spot !== undefined) {
    const message = `With FLEX_START all machines are requested alike, so ${spot.path} cannot be true.`;
    const remedy = `Remove ${spot.path} or flexStart.`;
    findings.problems.push({ code: 'CONFLICTING_FIELDS', message, remedy, ...locationOf(spot) });
  }
  const [first] = groups;
  const other = groups.find(({ machine }) => first !== undefined && !isSame(machine, first.machine));
  if (first !== undefined && other !== undefined) {
    findings.problems.push({
      code: 'FLEX_START_MIXED_MACHINES',
      message: `With FLEX_START all machines must be identical, but the job requests ${first.machine.machineType} and ${other.machine.machineType}.`,
      remedy: 'Give all pools the same machine type and GPUs, or choose another strategy.',
      ...locationOf(other.pool.machineType ?? strategy ?? { path: other.pool.path }),
    });
  }
  return findings.problems.length === before;
}

function isSame(a: Machine, b: Machine): boolean {
  const isSameType = a.machineType === b.machineType && a.accelerator?.type === b.accelerator?.type;
  return isSameType && a.accelerator?.count === b.accelerator?.count;
}
