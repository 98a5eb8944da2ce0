import { findAccelerator, findMachineType, findTpu, type Gpus, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { type MachineRefusal, type ResolvedMachine, resolveMachine } from '#shared/catalog/resolve-machine.ts';
import type { AcceleratorDraft, Dialect } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type FindingText, locationOf } from '#shared/job-file/parser/findings.ts';
import { addOnce, rejectOnce } from '#shared/job-file/parser/record-findings.ts';
import { describeRefusal, printGpus } from '#shared/job-file/validation/describe-machine-rejection.ts';
import { machineFieldsOf } from '#shared/job-file/validation/machine-fields.ts';
import { isUnread, type WantedGroup } from '#shared/job-file/validation/requested-group.ts';

export type GroupResolution = { readonly group: WantedGroup; readonly resolved: ResolvedMachine | null };

/**
 * Finds the machine of a group; null where there is none such or not all of it is said, which is then among the
 * findings.
 */
export function resolveGroup(group: WantedGroup, dialect: Dialect, findings: Findings): GroupResolution {
  const { machineType, accelerator, pool } = group;
  const gpus = readGpus(accelerator, findings);
  const isKnown = [isTypeKnown(group, dialect, findings), isAcceleratorKnown(group, dialect, findings)].every(Boolean);
  const isRead = !machineFieldsOf(dialect, pool).gpus.some((field) => isUnread(pool, field, findings));
  if (gpus === 'OPEN' || !isKnown || !isRead) {
    return { group, resolved: null };
  }
  const resolution = resolveMachine({ machineType: machineType.value, accelerator: gpus });
  if ('refusal' in resolution) {
    refuseMachine(group, { refusal: resolution.refusal, dialect }, findings);
    return { group, resolved: null };
  }
  warnOfReplacement(group, { resolved: resolution, dialect }, findings);
  return { group, resolved: resolution };
}

/** What a group's GPUs are; OPEN where that is not said, or only by a placeholder. */
function readGpus({ type, count }: AcceleratorDraft, findings: Findings): Gpus | null | 'OPEN' {
  const isNone = isNoType(type?.value);
  if (isNone && (count === undefined || count.value === 0)) {
    return null;
  }
  if (type !== undefined && !isNone && count !== undefined) {
    if (typeof count.value === 'string') {
      return 'OPEN';
    }
    if (count.value > 0) {
      return { type: type.value, count: count.value };
    }
  }
  const place = isNone ? count : (count ?? type);
  const message = isNone
    ? 'A count of GPUs is given, but not their type.'
    : 'A type of GPU is given, but not how many.';
  const remedy = 'Write both, such as NVIDIA_TESLA_T4 and 1.';
  addOnce(findings.problems, { code: 'INCOMPLETE_ACCELERATOR', message, remedy, ...(place && locationOf(place)) });
  return 'OPEN';
}

/** Nothing said, or the enumeration's zero (AcceleratorConfig.type, MachineSpec.acceleratorType). */
function isNoType(type: string | undefined): boolean {
  return type === undefined || type === 'ACCELERATOR_TYPE_UNSPECIFIED';
}

/** Looked at apart from the machine type: who has slipped in both is told of both. */
function isAcceleratorKnown({ machineType, accelerator, pool }: WantedGroup, dialect: Dialect, findings: Findings) {
  const { type } = accelerator;
  if (type === undefined || isNoType(type.value) || spellAccelerator(type.value) !== undefined) {
    return true;
  }
  const refusal = { reason: 'UNKNOWN_ACCELERATOR', name: type.value } as const;
  const fields = machineFieldsOf(dialect, pool);
  rejectOnce(type, wordsOf(refusal, { machineType: machineType.value, fields }), findings);
  return false;
}

function isTypeKnown(group: WantedGroup, dialect: Dialect, findings: Findings): boolean {
  const resolution = resolveMachine({ machineType: group.machineType.value, accelerator: null });
  if ('refusal' in resolution) {
    refuseMachine(group, { refusal: resolution.refusal, dialect }, findings);
  }
  return !('refusal' in resolution);
}

type Refused = { readonly refusal: MachineRefusal; readonly dialect: Dialect };

function refuseMachine({ machineType, accelerator, pool }: WantedGroup, refused: Refused, findings: Findings): void {
  const isChosen = refused.dialect === 'dropforge' && pool.machineType === undefined;
  const refusal = isChosen ? refusalOfGpus(refused.refusal) : refused.refusal;
  const isAboutGpu = !['UNKNOWN_MACHINE_TYPE', 'MACHINE_TYPE_TOO_LARGE'].includes(refusal.reason);
  const words = wordsOf(refusal, {
    machineType: machineType.value,
    fields: machineFieldsOf(refused.dialect, pool),
  });
  rejectOnce((isAboutGpu ? accelerator.type : undefined) ?? machineType, words, findings);
}

/**
 * Who has named GPUs and no machine is told of the counts that they come in, not of a machine that is not in the file.
 */
function refusalOfGpus(refusal: MachineRefusal): MachineRefusal {
  if (refusal.reason !== 'ACCELERATOR_NOT_ATTACHABLE') {
    return refusal;
  }
  const { accelerator, builtInTo } = refusal;
  const counts = [...new Set(builtInTo.flatMap((name) => findMachineType(name)?.gpu?.count ?? []))];
  return counts.length === 0
    ? refusal
    : { reason: 'WRONG_ACCELERATOR_COUNT', accelerator, counts: counts.sort((a, b) => a - b) };
}

function wordsOf(refusal: MachineRefusal, refused: Parameters<typeof describeRefusal>[1]): FindingText {
  return { code: refusal.reason, ...describeRefusal(refusal, refused) };
}

type Replaced = { readonly resolved: ResolvedMachine; readonly dialect: Dialect };

function warnOfReplacement(group: WantedGroup, { resolved, dialect }: Replaced, findings: Findings): void {
  if (resolved.replaced === null) {
    return;
  }
  const { from, to } = resolved.replaced;
  const { machineType: field, writeGpus } = machineFieldsOf(dialect, group.pool);
  const isOfTier = dialect === 'ai-platform' && group.pool.machineType === undefined;
  const byName = `${field}: ${resolved.machine.machineType}, ${writeGpus(to)}`;
  addOnce(findings.warnings, {
    code: 'ACCELERATOR_REPLACED',
    message: `${printGpus(from)} is no longer to be had; ${printGpus(to)} takes its place.`,
    remedy: `Ask for it by name: write ${isOfTier ? 'scaleTier: CUSTOM, ' : ''}${byName}.`,
    ...locationOf(group.accelerator.type ?? group.machineType),
  });
}

/** The API's spelling of a GPU's or TPU's name; undefined where there is none such. */
export function spellAccelerator(name: string): string | undefined {
  const gpu = findAccelerator(name);
  return gpu === undefined ? findTpu(name) : toAcceleratorEnum(gpu.name);
}
