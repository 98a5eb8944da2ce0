import { findAccelerator, findMachineType, findTpu, type Gpus, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { type MachineRejection, type ResolvedMachine, resolveMachine } from '#shared/catalog/resolve-machine.ts';
import type { AcceleratorDraft, Dialect } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type FindingText, locationOf } from '#shared/job-file/parser/findings.ts';
import { addOnce, rejectOnce } from '#shared/job-file/parser/record-findings.ts';
import {
  describeMachineRejection,
  printGpus,
  type RejectedMachine,
} from '#shared/job-file/validation/describe-machine-rejection.ts';
import { machineFieldsOf } from '#shared/job-file/validation/machine-fields.ts';
import { isUnread, type RequestedGroup } from '#shared/job-file/validation/requested-groups.ts';

export type GroupResolution = { readonly group: RequestedGroup; readonly resolved: ResolvedMachine | null };

/** Finds the machine of a group; null if there is no such machine or its description is incomplete. */
export function resolveGroup(group: RequestedGroup, dialect: Dialect, findings: Findings): GroupResolution {
  const { machineType, accelerator, pool } = group;
  const gpus = readGpus(accelerator, findings);
  const isKnown = [isTypeKnown(group, dialect, findings), isAcceleratorKnown(group, dialect, findings)].every(Boolean);
  const isRead = !machineFieldsOf(dialect, pool).gpus.some((field) => isUnread(pool, field, findings));
  if (gpus === 'UNKNOWN' || !isKnown || !isRead) {
    return { group, resolved: null };
  }
  const resolution = resolveMachine({ machineType: machineType.value, accelerator: gpus });
  if ('rejection' in resolution) {
    rejectMachine(group, { rejection: resolution.rejection, dialect }, findings);
    return { group, resolved: null };
  }
  warnOfReplacement(group, { resolved: resolution, dialect }, findings);
  return { group, resolved: resolution };
}

/** A group's GPUs, null if there are none; UNKNOWN if the type or count is missing or a placeholder. */
function readGpus({ type, count }: AcceleratorDraft, findings: Findings): Gpus | null | 'UNKNOWN' {
  const isNone = isUnspecified(type?.value);
  if (isNone && (count === undefined || count.value === 0)) {
    return null;
  }
  if (type !== undefined && !isNone && count !== undefined) {
    if (typeof count.value === 'string') {
      return 'UNKNOWN';
    }
    if (count.value > 0) {
      return { type: type.value, count: count.value };
    }
  }
  const location = isNone ? count : (count ?? type);
  const message = isNone
    ? 'A number of GPUs is given without their type.'
    : 'A GPU type is given without the number of GPUs.';
  const remedy = 'Write both, such as NVIDIA_TESLA_T4 and 1.';
  addOnce(findings.problems, {
    code: 'INCOMPLETE_ACCELERATOR',
    message,
    remedy,
    ...(location && locationOf(location)),
  });
  return 'UNKNOWN';
}

/** Missing, or the enum's zero value (AcceleratorConfig.type, MachineSpec.acceleratorType). */
function isUnspecified(type: string | undefined): boolean {
  return type === undefined || type === 'ACCELERATOR_TYPE_UNSPECIFIED';
}

/** Checked separately from the machine type, so that typos in both are reported at once. */
function isAcceleratorKnown({ machineType, accelerator, pool }: RequestedGroup, dialect: Dialect, findings: Findings) {
  const { type } = accelerator;
  if (type === undefined || isUnspecified(type.value) || acceleratorEnumOf(type.value) !== undefined) {
    return true;
  }
  const rejection = { reason: 'UNKNOWN_ACCELERATOR', name: type.value } as const;
  const fields = machineFieldsOf(dialect, pool);
  rejectOnce(type, findingTextOf(rejection, { machineType: machineType.value, fields }), findings);
  return false;
}

function isTypeKnown(group: RequestedGroup, dialect: Dialect, findings: Findings): boolean {
  const resolution = resolveMachine({ machineType: group.machineType.value, accelerator: null });
  if ('rejection' in resolution) {
    rejectMachine(group, { rejection: resolution.rejection, dialect }, findings);
  }
  return !('rejection' in resolution);
}

type Rejected = { readonly rejection: MachineRejection; readonly dialect: Dialect };

function rejectMachine(
  { machineType, accelerator, pool }: RequestedGroup,
  { rejection, dialect }: Rejected,
  findings: Findings,
): void {
  const isDefaultMachine = dialect === 'dropforge' && pool.machineType === undefined;
  const reported = isDefaultMachine ? withoutMachineType(rejection) : rejection;
  const isAboutGpu = !['UNKNOWN_MACHINE_TYPE', 'MACHINE_TYPE_NOT_OFFERED', 'MACHINE_TYPE_TOO_LARGE'].includes(
    reported.reason,
  );
  const text = findingTextOf(reported, { machineType: machineType.value, fields: machineFieldsOf(dialect, pool) });
  rejectOnce((isAboutGpu ? accelerator.type : undefined) ?? machineType, text, findings);
}

/**
 * For a file that names GPUs and no machine type: reports the counts in which the GPUs are available rather than a
 * machine type that the file does not contain.
 */
function withoutMachineType(rejection: MachineRejection): MachineRejection {
  if (rejection.reason !== 'ACCELERATOR_NOT_ATTACHABLE') {
    return rejection;
  }
  const { accelerator, builtInTo } = rejection;
  const counts = [...new Set(builtInTo.flatMap((name) => findMachineType(name)?.gpu?.count ?? []))];
  return counts.length === 0
    ? rejection
    : { reason: 'WRONG_ACCELERATOR_COUNT', accelerator, counts: counts.sort((a, b) => a - b) };
}

function findingTextOf(rejection: MachineRejection, rejected: RejectedMachine): FindingText {
  return { code: rejection.reason, ...describeMachineRejection(rejection, rejected) };
}

type Replaced = { readonly resolved: ResolvedMachine; readonly dialect: Dialect };

function warnOfReplacement(group: RequestedGroup, { resolved, dialect }: Replaced, findings: Findings): void {
  if (resolved.replaced === null) {
    return;
  }
  const { from, to } = resolved.replaced;
  const { machineType: field, writeGpus } = machineFieldsOf(dialect, group.pool);
  const isOfTier = dialect === 'ai-platform' && group.pool.machineType === undefined;
  const byName = `${field}: ${resolved.machine.machineType}, ${writeGpus(to)}`;
  addOnce(findings.warnings, {
    code: 'ACCELERATOR_REPLACED',
    message: `${printGpus(from)} is no longer available and is replaced by ${printGpus(to)}.`,
    remedy: `Request the replacement explicitly: write ${isOfTier ? 'scaleTier: CUSTOM, ' : ''}${byName}.`,
    ...locationOf(group.accelerator.type ?? group.machineType),
  });
}

/** The API's enum name of a GPU or TPU; undefined if it is unknown. */
export function acceleratorEnumOf(name: string): string | undefined {
  const gpu = findAccelerator(name);
  return gpu === undefined ? findTpu(name) : toAcceleratorEnum(gpu.name);
}
