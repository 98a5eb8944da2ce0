import { type Accelerator, findAccelerator, findMachineType, readCatalog } from '#shared/catalog/catalog.ts';
import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import type { JobFacts } from '#shared/diagnosis/job-facts.ts';
import type { Job } from '#shared/domain/job.ts';
import type { ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';

type Machine = NonNullable<JobFacts['machine']>;

/** The facts that the diagnosis of a replica's exit needs: its machine, its arguments, and its last measurements. */
export function readJobFacts({ jobId, spec, warnings }: Job, { role, usage, health }: Heartbeat): JobFacts {
  const group = findGroup(spec.replicaGroups, role);
  const { machineType } = group;
  const accelerator = group.accelerator ?? findMachineType(machineType)?.gpu ?? null;
  return {
    jobId,
    args: (group.program ?? spec.program).args,
    machine: { machineType, accelerator },
    bootDiskGib: group.bootDiskGib,
    usage,
    health: health ?? [],
    warnings,
    moreGpuMemory: listMoreGpuMemory(accelerator),
    moreMemory: listMoreMemory(machineType),
  };
}

function findGroup(groups: readonly [ReplicaGroup, ...ReplicaGroup[]], role: Role): ReplicaGroup {
  return groups.find((group) => group.role === role) ?? groups[0];
}

/** Twice the GPUs, for a program that spreads its batch over them, and the GPU with the next larger memory. */
function listMoreGpuMemory(accelerator: Machine['accelerator']): readonly string[] {
  const own = accelerator === null ? undefined : findAccelerator(accelerator.type);
  if (accelerator === null || own === undefined) {
    return [];
  }
  const larger = nextLargerThan(own);
  const choices = [
    { type: own.name, count: 2 * accelerator.count },
    ...(larger === undefined ? [] : [{ type: larger.name, count: 1 }]),
  ];
  return choices.flatMap((choice) => {
    const machine = machineForGpus(choice);
    return machine === undefined ? [] : [`${choice.count} x ${choice.type} on ${machine}`];
  });
}

/** The cheapest GPU that has more memory; none of an unknown price. */
function nextLargerThan({ memoryGibPerGpu }: Accelerator): Accelerator | undefined {
  return readCatalog()
    .accelerators.filter(
      (each) =>
        each.memoryGibPerGpu > memoryGibPerGpu &&
        each.replacement === null &&
        machineForGpus({ type: each.name, count: 1 }) !== undefined,
    )
    .sort((a, b) => a.memoryGibPerGpu - b.memoryGibPerGpu || a.name.localeCompare(b.name))[0];
}

/** The machine types of the same family with the next larger memory. */
function listMoreMemory(machineType: string): readonly string[] {
  const own = findMachineType(machineType);
  if (own === undefined) {
    return [];
  }
  const family = /^[^-]+/.exec(own.name)?.[0];
  const larger = readCatalog()
    .machineTypes.filter(
      ({ name, memoryGib, gpu }) =>
        name.startsWith(`${family}-`) && memoryGib > own.memoryGib && gpu?.type === own.gpu?.type,
    )
    .sort((a, b) => a.memoryGib - b.memoryGib || a.vcpus - b.vcpus);
  return larger.slice(0, 1).map(({ name, memoryGib }) => `${name} (${memoryGib} GiB)`);
}
