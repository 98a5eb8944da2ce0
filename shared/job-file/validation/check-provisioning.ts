import { findMachineType, type Machine } from '#shared/catalog/catalog.ts';
import type { ProvisioningModel, Reservation } from '#shared/domain/job-spec.ts';
import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import { fieldPath } from '#shared/job-file/draft/field-paths.ts';
import type { Dialect, JobDraft, PoolDraft, ReservationDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf, reportInvalid, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import { addOnce, quote, rejectOnce } from '#shared/job-file/parser/record-findings.ts';
import type { PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
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
 * What to write for a provisioning model in a dialect: its strategy, or in our own form the whole line. Empty where the
 * dialect has no word for it.
 */
const WRITTEN: Readonly<Record<Dialect, Readonly<Record<ProvisioningModel, string>>>> = {
  'ai-platform': { STANDARD: 'ON_DEMAND', SPOT: 'LOW_COST', FLEX_START: '' },
  'vertex-ai': { STANDARD: 'STANDARD', SPOT: 'SPOT', FLEX_START: 'FLEX_START' },
  dropforge: { STANDARD: 'spot: false', SPOT: 'spot: true', FLEX_START: 'flexStart: true' },
};

const SHORTFALLS = { STANDARD: 'on demand', SPOT: 'as a Spot VM', FLEX_START: 'with FLEX_START' } as const;

const FLEX_START_DAYS_MAX = 7;

/** The only label of reservations that they can be found by (Vertex AI, ReservationAffinity.key). */
const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

/**
 * A name alone, which is the job's project's and zone's, or a full one; Compute Engine leaves the zone out of those.
 */
const RESERVATION_PATTERN =
  /^(projects\/[a-z0-9.:-]{1,100}\/(zones\/[a-z0-9-]{1,63}\/)?reservations\/)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

const RESERVATION_TYPES = ['ANY_RESERVATION', 'NO_RESERVATION', 'SPECIFIC_RESERVATION'];

/** How the VMs are to be asked for; null where the machines cannot be had so, which is then among the findings. */
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
  const areAllowed = vms.map((group) => isAllowed(group, { draft, model }, findings)).every(Boolean);
  const isFlexible = model !== 'FLEX_START' || checkFlexStart(draft, vms, findings);
  return areAllowed && isFlexible ? model : null;
}

function readStrategy({ dialect, strategy }: JobDraft, findings: Findings): ProvisioningModel | null {
  if (strategy === undefined) {
    return 'STANDARD';
  }
  const { value } = strategy;
  const model = Object.hasOwn(STRATEGIES, value) ? STRATEGIES[value] : undefined;
  if (model === undefined) {
    const words = Object.values(WRITTEN[dialect]).filter((word) => word !== '');
    const message = `There is no scheduling strategy ${quote(value)}.`;
    const remedy = `${didYouMean(value, words)}Write ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`;
    reportInvalid(strategy, { code: 'UNKNOWN_STRATEGY', message, remedy }, findings);
    return null;
  }
  return model;
}

type Wish = { readonly draft: JobDraft; readonly model: ProvisioningModel };

/**
 * Compute Engine, "GPU machine types", says how each type can be had. A reservation gives what cannot be had on demand;
 * Spot VMs and Flex-start VMs do not use reservations ("Consume a reserved instance").
 */
function isAllowed({ machine, pool }: PlannedGroup, { draft, model }: Wish, findings: Findings): boolean {
  const isReserved = pool.reservation?.type?.value === 'SPECIFIC_RESERVATION';
  const place = locationOf(pool.machineType ?? draft.scaleTier ?? { path: fieldPath(draft.dialect, 'machineType') });
  if (isReserved && model !== 'STANDARD') {
    const what = model === 'SPOT' ? 'Spot VMs' : 'VMs that are asked for with FLEX_START';
    const message = `${what} are never taken from a reservation.`;
    const remedy = 'Leave out the reservation or the strategy.';
    const where = pool.reservation?.type ?? pool.machineType ?? place;
    addOnce(findings.problems, { code: 'RESERVATION_NOT_USABLE', message, remedy, ...locationOf(where) });
    return false;
  }
  const models = findMachineType(machine.machineType)?.provisioningModels ?? [model];
  if (models.includes(model) || isReserved) {
    return true;
  }
  const code = models.length === 0 ? 'RESERVATION_NEEDED' : 'WRONG_PROVISIONING_MODEL';
  const how = models.length === 0 ? 'without a reservation' : SHORTFALLS[model];
  const message = `${machine.machineType} cannot be had ${how}.`;
  addOnce(findings.problems, { code, message, remedy: suggestModels(models, draft.dialect), ...place });
  return false;
}

function suggestModels(models: readonly ProvisioningModel[], dialect: Dialect): string {
  const words = models.map((model) => WRITTEN[dialect][model]).filter((word) => word !== '');
  if (words.length > 0) {
    const field = dialect === 'dropforge' ? '' : `${fieldPath(dialect, 'strategy')}: `;
    return `Write ${field}${words.join(' or ')}, or choose another machine type.`;
  }
  const field = dialect === 'vertex-ai' ? 'reservationAffinity' : 'reservation';
  return models.length > 0 || dialect === 'ai-platform'
    ? 'Choose another machine type.'
    : `Name a reservation of yours in ${field}, or choose another machine type.`;
}

/** Vertex AI, "Schedule training jobs based on resource availability": one kind of machine, for seven days at most. */
function checkFlexStart(
  { maxRunningTime, strategy }: JobDraft,
  groups: readonly PlannedGroup[],
  findings: Findings,
): boolean {
  const before = findings.problems.length;
  if (maxRunningTime !== undefined && (parseDurationMs(maxRunningTime.value) ?? 0) > FLEX_START_DAYS_MAX * 86_400_000) {
    const message = `With FLEX_START a job runs for ${FLEX_START_DAYS_MAX} days at most, but ${maxRunningTime.path} is ${maxRunningTime.value}.`;
    const remedy = `Write ${FLEX_START_DAYS_MAX * 86_400}s or less.`;
    findings.problems.push({ code: 'FLEX_START_TOO_LONG', message, remedy, ...locationOf(maxRunningTime) });
  }
  const [first] = groups;
  const other = groups.find(({ machine }) => first !== undefined && !isSame(machine, first.machine));
  if (first !== undefined && other !== undefined) {
    findings.problems.push({
      code: 'FLEX_START_MIXED_MACHINES',
      message: `With FLEX_START all machines are of one kind, but ${first.machine.machineType} and ${other.machine.machineType} are asked for.`,
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

/** Which reserved capacity a pool may use (Vertex AI, ReservationAffinity); null where nothing is said, or wrongly. */
export function checkReservation({ reservation, path }: PoolDraft, findings: Findings): Reservation | null {
  if (reservation === undefined) {
    return null;
  }
  const { type } = reservation;
  if (type?.value === 'SPECIFIC_RESERVATION') {
    return checkSpecific(reservation, locationOf(type), findings);
  }
  if (type === undefined || !RESERVATION_TYPES.includes(type.value)) {
    const missing = 'A reservation is described, but not whether it is to be used.';
    const message = type === undefined ? missing : `There is no way to use reservations ${quote(type.value)}.`;
    const remedy = `${didYouMean(type?.value ?? '', RESERVATION_TYPES)}Write ${RESERVATION_TYPES.join(', or ')}.`;
    const located = type ?? { ...(reservation.key ?? reservation.values[0] ?? { path }), value: '' };
    rejectOnce(located, { code: 'UNKNOWN_RESERVATION_TYPE', message, remedy }, findings);
    return null;
  }
  const [idle] = [reservation.key, ...reservation.values].filter((said) => said !== undefined);
  if (idle !== undefined) {
    const message = `${idle.path} has no effect: only SPECIFIC_RESERVATION names reservations.`;
    const remedy = 'Remove it, or write SPECIFIC_RESERVATION.';
    addOnce(findings.warnings, { code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(idle) });
  }
  return { kind: type.value === 'ANY_RESERVATION' ? 'ANY' : 'NONE' };
}

function checkSpecific(
  { key, values }: ReservationDraft,
  place: SourceLocation,
  findings: Findings,
): Reservation | null {
  const code = 'INVALID_RESERVATION';
  const isKey = key?.value === RESERVATION_KEY;
  if (!isKey) {
    const message =
      key === undefined
        ? 'A reservation is to be used, but has no key.'
        : `${quote(key.value)} is no key of reservations.`;
    rejectOnce(key ?? { ...place, value: '' }, { code, message, remedy: `Write key: ${RESERVATION_KEY}.` }, findings);
  }
  if (values.length === 0) {
    const message = 'A reservation is to be used, but none is named.';
    const remedy = 'Name it: values: [projects/my-project/zones/us-central1-a/reservations/my-reservation].';
    addOnce(findings.problems, { code, message, remedy, ...place });
  }
  const wrong = values.filter(({ value }) => !RESERVATION_PATTERN.test(value));
  for (const name of wrong) {
    const message = `${quote(name.value)} is no name of a reservation.`;
    const remedy = 'Write one such as projects/my-project/zones/us-central1-a/reservations/my-reservation.';
    rejectOnce(name, { code, message, remedy }, findings);
  }
  const isSound = isKey && values.length > 0 && wrong.length === 0;
  return isSound ? { kind: 'SPECIFIC', names: values.map(({ value }) => value) } : null;
}
