import { findMachineType, type Machine } from '#shared/catalog/catalog.ts';
import type { ProvisioningModel, Reservation } from '#shared/domain/job-spec.ts';
import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import {
  type Dialect,
  fieldPath,
  type JobDraft,
  type PoolDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
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
 * What to write for a provisioning model in a dialect: a strategy, or for Dropforge the whole line. Empty if the
 * dialect cannot express it.
 */
const SYNTAX: Readonly<Record<Dialect, Readonly<Record<ProvisioningModel, string>>>> = {
  'ai-platform': { STANDARD: 'ON_DEMAND', SPOT: 'LOW_COST', FLEX_START: '' },
  'vertex-ai': { STANDARD: 'STANDARD', SPOT: 'SPOT', FLEX_START: 'FLEX_START' },
  dropforge: { STANDARD: 'spot: false', SPOT: 'spot: true', FLEX_START: 'flexStart: true' },
};

const UNAVAILABLE = { STANDARD: 'on demand', SPOT: 'as a Spot VM', FLEX_START: 'with FLEX_START' } as const;

const FLEX_START_DAYS_MAX = 7;

/** The only supported label key for selecting reservations (Vertex AI, ReservationAffinity.key). */
const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

/** A short name, in the job's project and zone, or a full name; Compute Engine's full names omit the zone. */
const RESERVATION_PATTERN =
  /^(projects\/[a-z0-9.:-]{1,100}\/(zones\/[a-z0-9-]{1,63}\/)?reservations\/)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

const RESERVATION_TYPES = ['ANY_RESERVATION', 'NO_RESERVATION', 'SPECIFIC_RESERVATION'];

/** The provisioning model of the VMs; null if it is invalid or not available for the machines. */
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
  const areAvailable = vms.map((group) => isAvailable(group, { draft, model }, findings)).every(Boolean);
  const isFlexStartValid = model !== 'FLEX_START' || checkFlexStart(draft, vms, findings);
  return areAvailable && isFlexStartValid ? model : null;
}

function readStrategy({ dialect, strategy }: JobDraft, findings: Findings): ProvisioningModel | null {
  if (strategy === undefined) {
    return 'STANDARD';
  }
  const { value } = strategy;
  const model = Object.hasOwn(STRATEGIES, value) ? STRATEGIES[value] : undefined;
  if (model === undefined) {
    const names = Object.values(SYNTAX[dialect]).filter((name) => name !== '');
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
  const location = locationOf(pool.machineType ?? draft.scaleTier ?? { path: fieldPath(draft.dialect, 'machineType') });
  if (isReserved && model !== 'STANDARD') {
    const what = model === 'SPOT' ? 'Spot VMs' : 'VMs with FLEX_START';
    const message = `${what} cannot consume a reservation.`;
    const remedy = 'Remove the reservation or the strategy.';
    const where = pool.reservation?.type ?? pool.machineType ?? location;
    addOnce(findings.problems, { code: 'RESERVATION_NOT_USABLE', message, remedy, ...locationOf(where) });
    return false;
  }
  const models = findMachineType(machine.machineType)?.provisioningModels ?? [model];
  if (models.includes(model) || isReserved) {
    return true;
  }
  const code = models.length === 0 ? 'RESERVATION_NEEDED' : 'WRONG_PROVISIONING_MODEL';
  const how = models.length === 0 ? 'without a reservation' : UNAVAILABLE[model];
  const message = `${machine.machineType} is not available ${how}.`;
  addOnce(findings.problems, { code, message, remedy: suggestModels(models, draft.dialect), ...location });
  return false;
}

function suggestModels(models: readonly ProvisioningModel[], dialect: Dialect): string {
  const names = models.map((model) => SYNTAX[dialect][model]).filter((name) => name !== '');
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

/** The reserved capacity that a pool may use (Vertex AI, ReservationAffinity); null if missing or invalid. */
export function checkReservation({ reservation, path }: PoolDraft, findings: Findings): Reservation | null {
  if (reservation === undefined) {
    return null;
  }
  const { type } = reservation;
  if (type?.value === 'SPECIFIC_RESERVATION') {
    return checkSpecific(reservation, locationOf(type), findings);
  }
  if (type === undefined || !RESERVATION_TYPES.includes(type.value)) {
    const missing = 'A reservation is given without its affinity type.';
    const message = type === undefined ? missing : `${quote(type.value)} is not a reservation affinity type.`;
    const remedy = `${didYouMean(type?.value ?? '', RESERVATION_TYPES)}Write ${RESERVATION_TYPES.join(', or ')}.`;
    const located = type ?? { ...(reservation.key ?? reservation.values[0] ?? { path }), value: '' };
    rejectOnce(located, { code: 'UNKNOWN_RESERVATION_TYPE', message, remedy }, findings);
    return null;
  }
  const [unused] = [reservation.key, ...reservation.values].filter((field) => field !== undefined);
  if (unused !== undefined) {
    const message = `${unused.path} has no effect without SPECIFIC_RESERVATION.`;
    const remedy = 'Remove it, or write SPECIFIC_RESERVATION.';
    addOnce(findings.warnings, { code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(unused) });
  }
  return { kind: type.value === 'ANY_RESERVATION' ? 'ANY' : 'NONE' };
}

function checkSpecific(
  { key, values }: ReservationDraft,
  location: SourceLocation,
  findings: Findings,
): Reservation | null {
  const code = 'INVALID_RESERVATION';
  const isKey = key?.value === RESERVATION_KEY;
  if (!isKey) {
    const message =
      key === undefined
        ? 'A specific reservation is requested, but the key is missing.'
        : `${quote(key.value)} is not a reservation label key.`;
    rejectOnce(
      key ?? { ...location, value: '' },
      { code, message, remedy: `Write key: ${RESERVATION_KEY}.` },
      findings,
    );
  }
  if (values.length === 0) {
    const message = 'A specific reservation is requested, but none is named.';
    const remedy = 'Name it: values: [projects/my-project/zones/us-central1-a/reservations/my-reservation].';
    addOnce(findings.problems, { code, message, remedy, ...location });
  }
  const invalid = values.filter(({ value }) => !RESERVATION_PATTERN.test(value));
  for (const name of invalid) {
    const message = `${quote(name.value)} is not a valid reservation name.`;
    const remedy = 'Write a name such as projects/my-project/zones/us-central1-a/reservations/my-reservation.';
    rejectOnce(name, { code, message, remedy }, findings);
  }
  const isValid = isKey && values.length > 0 && invalid.length === 0;
  return isValid ? { kind: 'SPECIFIC', names: values.map(({ value }) => value) } : null;
}
