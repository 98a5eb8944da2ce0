import { findMachineType, type Machine, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { isLegacyMachineType } from '#shared/catalog/resolve-machine.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import type { Count, JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { printGpus } from '#shared/job-file/validation/describe-machine-rejection.ts';
import { requestedGroups } from '#shared/job-file/validation/requested-groups.ts';
import { acceleratorEnumOf, type GroupResolution, resolveGroup } from '#shared/job-file/validation/resolve-group.ts';

/** Dropforge's own limit: a larger number is more likely a typo than a job that should be paid for. */
const REPLICAS_COUNT_MAX = 1_000;

/** The machines of one role as they would run. */
export type PlannedGroup = {
  readonly role: Role;
  readonly count: number;
  readonly machine: Machine;
  /** The pool's other settings. */
  readonly pool: PoolDraft;
  /** TPU machines, whose zones and prices the catalog does not have. */
  readonly isTpu: boolean;
};

/**
 * The machines of one role as requested: Compute Engine's machine type, but retired GPUs by their own name. A machine
 * that does not exist is as written. GPUs have the API's name, `NVIDIA_TESLA_K80`.
 */
export type RequestedMachines = {
  readonly role: Role;
  readonly count: Count;
  readonly machineType: string;
  readonly gpus: Readonly<Record<string, Count>>;
  readonly tpuTopology: string | null;
};

export type MachinesCheck = {
  /** Null if one of the groups is invalid or incomplete. */
  readonly groups: readonly PlannedGroup[] | null;
  readonly requested: readonly RequestedMachines[];
};

/** Resolves and checks the machines that the job requests, by role, the master's first. */
export function checkMachines(draft: JobDraft, findings: Findings): MachinesCheck {
  const before = findings.problems.length;
  const requested = requestedGroups(draft, findings);
  const resolutions = requested
    .filter((group) => group !== 'INVALID')
    .map((group) => resolveGroup(group, draft.dialect, findings));
  if (draft.dialect === 'ai-platform') {
    checkCategories(resolutions, findings);
  }
  checkTpus(resolutions, findings);
  checkTotal(resolutions, findings);
  const planned = resolutions.flatMap((resolution) => plan(resolution) ?? []);
  const allPlanned = planned.length === requested.length && findings.problems.length === before;
  const groups = allPlanned ? planned : null;
  reportTpu(groups ?? [], draft, findings);
  return { groups, requested: resolutions.map(describeRequested) };
}

/** TPUs are valid, but this version cannot run them. */
function reportTpu(groups: readonly PlannedGroup[], { scaleTier }: JobDraft, { unsupported }: Findings): void {
  const tpu = groups.find(({ isTpu }) => isTpu)?.pool;
  if (tpu !== undefined) {
    const message = 'The job requests a TPU; this version does not support TPUs.';
    const remedy = 'Choose a machine type with GPUs, such as g2-standard-8 or a2-highgpu-1g.';
    unsupported.push({
      code: 'UNSUPPORTED_FIELD',
      message,
      remedy,
      ...locationOf(tpu.machineType ?? scaleTier ?? tpu),
    });
  }
}

function plan({ group, resolved }: GroupResolution): PlannedGroup | null {
  const { role, count, pool } = group;
  if (resolved === null || typeof count.value === 'string') {
    return null;
  }
  return { role, count: count.value, machine: resolved.machine, pool, isTpu: resolved.isTpu };
}

function describeRequested({ group, resolved }: GroupResolution): RequestedMachines {
  const { role, count, machineType, accelerator, pool } = group;
  const common = { role, count: count.value, tpuTopology: pool.tpuTopology?.value ?? null };
  if (resolved !== null) {
    const { gpus } = resolved.requested;
    const named = gpus === null ? {} : { [toAcceleratorEnum(gpus.type)]: gpus.count };
    return { ...common, machineType: resolved.requested.machineType, gpus: named };
  }
  const { type, count: gpuCount } = accelerator;
  const gpus =
    type === undefined || gpuCount === undefined
      ? {}
      : { [acceleratorEnumOf(type.value) ?? type.value]: gpuCount.value };
  return { ...common, machineType: machineType.value, gpus };
}

/**
 * TrainingInput.workerType: a job's machine types are either all legacy or all Compute Engine's; a TPU may be combined
 * with both.
 */
function checkCategories(resolutions: readonly GroupResolution[], findings: Findings): void {
  const named = resolutions.filter(({ group }) => categoryOf(group.machineType.value) !== null);
  const first = named[0]?.group.machineType;
  if (first === undefined) {
    return;
  }
  for (const { group } of named) {
    const { machineType } = group;
    if (categoryOf(machineType.value) !== categoryOf(first.value)) {
      findings.problems.push({
        code: 'MIXED_MACHINE_TYPES',
        message: `${machineType.value} and ${first.value} cannot be combined: a job uses either AI Platform's legacy machine types or Compute Engine's.`,
        remedy: `Write the Compute Engine name: ${printEquivalents(named)}.`,
        ...locationOf(machineType),
      });
    }
  }
}

function categoryOf(machineType: string): 'LEGACY' | 'COMPUTE_ENGINE' | null {
  if (isLegacyMachineType(machineType)) {
    return 'LEGACY';
  }
  return findMachineType(machineType) === undefined ? null : 'COMPUTE_ENGINE';
}

function printEquivalents(named: readonly GroupResolution[]): string {
  const equivalents = named.flatMap(({ group, resolved }) => {
    const { value } = group.machineType;
    if (resolved === null || !isLegacyMachineType(value)) {
      return [];
    }
    const { machineType, gpus } = resolved.requested;
    return `${value} is ${machineType}${gpus === null ? '' : ` with ${printGpus(gpus)}`}`;
  });
  return [...new Set(equivalents)].join(', ');
}

/**
 * A job has at most one TPU, and a single replica uses it (AI Platform, "Using TPUs"; Vertex AI, "Training with
 * TPUs").
 */
function checkTpus(resolutions: readonly GroupResolution[], findings: Findings): void {
  const [first, second] = resolutions.filter(({ resolved }) => resolved?.isTpu === true).map(({ group }) => group);
  if (first !== undefined && typeof first.count.value === 'number' && first.count.value !== 1) {
    findings.problems.push({
      code: 'TPU_POOL',
      message: `A job can have one replica with a TPU, not ${first.count.value}.`,
      remedy: 'Write a count of 1, and choose a larger TPU if one is not enough.',
      ...locationOf(first.count),
    });
  }
  if (second !== undefined) {
    findings.problems.push({
      code: 'TPU_POOL',
      message: `A job can have one TPU, but ${first?.machineType.path} and ${second.machineType.path} both request one.`,
      remedy: 'Choose a machine type without a TPU for one of them.',
      ...locationOf(second.machineType),
    });
  }
}

function checkTotal(resolutions: readonly GroupResolution[], findings: Findings): void {
  const counts = resolutions.flatMap(({ group: { count } }) =>
    typeof count.value === 'number' ? { ...locationOf(count), value: count.value } : [],
  );
  const total = counts.reduce((sum, { value }) => sum + value, 0);
  const [largest] = [...counts].sort((a, b) => b.value - a.value);
  if (total > REPLICAS_COUNT_MAX && largest !== undefined) {
    findings.problems.push({
      code: 'TOO_MANY_REPLICAS',
      message: `The job requests ${total} machines; the maximum is ${REPLICAS_COUNT_MAX}.`,
      remedy: 'Request fewer, larger machines, or split the job.',
      ...locationOf(largest),
    });
  }
}
