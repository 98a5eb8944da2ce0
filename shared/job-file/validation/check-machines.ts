import { findMachineType, type Machine, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { isLegacyMachineType } from '#shared/catalog/resolve-machine.ts';
import type { Role } from '#shared/domain/job-spec.ts';
import type { Count, Dialect, JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { aiPlatformGroups } from '#shared/job-file/validation/ai-platform-groups.ts';
import { printGpus } from '#shared/job-file/validation/describe-machine-rejection.ts';
import { dropforgeGroups } from '#shared/job-file/validation/dropforge-groups.ts';
import type { Wanted } from '#shared/job-file/validation/requested-group.ts';
import { type GroupResolution, resolveGroup, spellAccelerator } from '#shared/job-file/validation/resolve-group.ts';
import { vertexGroups } from '#shared/job-file/validation/vertex-groups.ts';

/** A limit of our own: more VMs than that are no slip that one would want to pay for. */
const REPLICAS_COUNT_MAX = 1_000;

/** Machines of one role as they would run. */
export type PlannedGroup = {
  readonly role: Role;
  readonly count: number;
  readonly machine: Machine;
  /** What else was said about them. */
  readonly pool: PoolDraft;
  /** Whether they are TPU machines, of which neither zones nor prices are known. */
  readonly isTpu: boolean;
};

/**
 * Machines as they were asked for: in Compute Engine's names, but with GPUs that are no longer to be had; where there
 * are none such, as they are written. GPUs are by the API's name, `NVIDIA_TESLA_K80`.
 */
export type AskedGroup = {
  readonly role: Role;
  readonly count: Count;
  readonly machineType: string;
  readonly gpus: Readonly<Record<string, Count>>;
  readonly tpuTopology: string | null;
};

export type MachinesCheck = {
  /** Null where one of the groups is wrong, or not yet said to the end. */
  readonly groups: readonly PlannedGroup[] | null;
  readonly asked: readonly AskedGroup[];
};

const GROUPS_OF: Readonly<Record<Dialect, (draft: JobDraft, findings: Findings) => readonly Wanted[]>> = {
  'ai-platform': aiPlatformGroups,
  'vertex-ai': vertexGroups,
  dropforge: dropforgeGroups,
};

/** The machines that the job asks for, by role, the master's first; what is wrong with them is among the findings. */
export function checkMachines(draft: JobDraft, findings: Findings): MachinesCheck {
  const before = findings.problems.length;
  const wanted = GROUPS_OF[draft.dialect](draft, findings);
  const resolutions = wanted
    .filter((group) => group !== 'WRONG')
    .map((group) => resolveGroup(group, draft.dialect, findings));
  if (draft.dialect === 'ai-platform') {
    checkCategories(resolutions, findings);
  }
  checkTpus(resolutions, findings);
  checkTotal(resolutions, findings);
  const planned = resolutions.flatMap((resolution) => plan(resolution) ?? []);
  const allReplicasCreated = planned.length === wanted.length && findings.problems.length === before;
  return { groups: allReplicasCreated ? planned : null, asked: resolutions.map(describeAsked) };
}

function plan({ group, resolved }: GroupResolution): PlannedGroup | null {
  const { role, count, pool } = group;
  if (resolved === null || typeof count.value === 'string') {
    return null;
  }
  return { role, count: count.value, machine: resolved.machine, pool, isTpu: resolved.isTpu };
}

function describeAsked({ group, resolved }: GroupResolution): AskedGroup {
  const { role, count, machineType, accelerator, pool } = group;
  const common = { role, count: count.value, tpuTopology: pool.tpuTopology?.value ?? null };
  if (resolved !== null) {
    const { gpus } = resolved.asked;
    const named = gpus === null ? {} : { [toAcceleratorEnum(gpus.type)]: gpus.count };
    return { ...common, machineType: resolved.asked.machineType, gpus: named };
  }
  const { type, count: gpuCount } = accelerator;
  const gpus =
    type === undefined || gpuCount === undefined
      ? {}
      : { [spellAccelerator(type.value) ?? type.value]: gpuCount.value };
  return { ...common, machineType: machineType.value, gpus };
}

/**
 * TrainingInput.workerType: the machine types of a job are all legacy ones or all Compute Engine's; a TPU goes with
 * both.
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
        message: `${machineType.value} and ${first.value} do not go together: a job's machine types are all AI Platform's own or all Compute Engine's.`,
        remedy: `Write Compute Engine's name: ${namedByComputeEngine(named)}.`,
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

function namedByComputeEngine(named: readonly GroupResolution[]): string {
  const meanings = named.flatMap(({ group, resolved }) => {
    const { value } = group.machineType;
    if (resolved === null || !isLegacyMachineType(value)) {
      return [];
    }
    const { machineType, gpus } = resolved.asked;
    return `${value} is ${machineType}${gpus === null ? '' : ` with ${printGpus(gpus)}`}`;
  });
  return [...new Set(meanings)].join(', ');
}

/**
 * A job has one TPU at most, which several machines cannot share (AI Platform, "Using TPUs"; Vertex AI, "Training with
 * TPUs").
 */
function checkTpus(resolutions: readonly GroupResolution[], findings: Findings): void {
  const [first, second] = resolutions.filter(({ resolved }) => resolved?.isTpu === true).map(({ group }) => group);
  if (first !== undefined && typeof first.count.value === 'number' && first.count.value !== 1) {
    findings.problems.push({
      code: 'TPU_POOL',
      message: `A job has one replica with a TPU, not ${first.count.value}.`,
      remedy: 'Write a count of 1, and choose a larger TPU where one is not enough.',
      ...locationOf(first.count),
    });
  }
  if (second !== undefined) {
    findings.problems.push({
      code: 'TPU_POOL',
      message: `A job has one TPU, but ${first?.machineType.path} and ${second.machineType.path} both ask for one.`,
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
      message: `The job asks for ${total} machines; it may have ${REPLICAS_COUNT_MAX}.`,
      remedy: 'Ask for fewer and larger ones, or split the job.',
      ...locationOf(largest),
    });
  }
}
