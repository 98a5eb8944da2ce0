import { familyOf, gpusOf } from '#shared/catalog/catalog.ts';
import { type Architecture, COMPUTE_ARCHITECTURES } from '#shared/domain/architecture.ts';
import type { JobSpec, ReplicaGroup } from '#shared/domain/job-spec.ts';
import { fieldPath } from '#shared/job-file/draft/job-draft.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';
import type { IntakeSettings, RuntimeFound } from '#shared/use-cases/intake/checks/intake-settings.ts';

/**
 * Whether the deployment offers the job's runtime with its boot disks, for its processors and GPUs. A missing runtime
 * is a problem; a runtime that replaces it is a warning.
 */
export const checkRuntime: Check = ({ draft: { dialect }, spec }, { intake }) => {
  const { runtimeVersion } = spec;
  const path = fieldPath(dialect, 'runtimeVersion');
  const runtime = intake.runtimeOf(runtimeVersion);
  if (runtime === undefined) {
    const message = `This deployment has no image for runtime ${runtimeVersion}.`;
    const remedy = `Choose one of ${intake.runtimeVersions.join(', ')}, or have an image added to runtime_images.`;
    return { problems: [{ code: 'UNKNOWN_RUNTIME', message, remedy, path }] };
  }
  const unfit = [
    ...checkBootSource(runtime, spec),
    ...checkArchitecture(runtime, spec, intake),
    ...checkGpus(runtime, spec, intake),
  ];
  const pythonPath = fieldPath(dialect, 'pythonVersion');
  return {
    problems: [...checkDisks(runtime, spec), ...unfit.map((problem) => ({ ...problem, path }))],
    warnings: [
      ...describeReplacement(runtime, spec).map((warning) => ({ ...warning, path })),
      ...checkPython(runtime, spec).map((warning) => ({ ...warning, path: pythonPath })),
    ],
  };
};

function describeReplacement({ name, note, remedy }: RuntimeFound, { runtimeVersion }: JobSpec): readonly Problem[] {
  const message = `Runtime ${runtimeVersion} is not available: the job runs on ${name}.${note === null ? '' : ` ${note}`}`;
  const ofOwnImage = `Check that the program runs on ${name} and set it as the runtime version, or have an image of your own added.`;
  return name === runtimeVersion ? [] : [{ code: 'RUNTIME_REPLACED', message, remedy: remedy ?? ofOwnImage }];
}

/** A job runs on the Python of its image, whatever it requests. The job file check has reported Python 2 already. */
function checkPython({ pythonVersion }: RuntimeFound, { pythonVersion: wanted }: JobSpec): readonly Problem[] {
  if (pythonVersion === null || wanted === null || wanted.startsWith('2.')) {
    return [];
  }
  if (`${pythonVersion}.`.startsWith(`${wanted}.`) || wanted.startsWith(`${pythonVersion}.`)) {
    return [];
  }
  const message = `The job requests Python ${wanted}, but its runtime has Python ${pythonVersion}.`;
  const remedy = `Check that the program runs on ${pythonVersion} and set it, or choose a runtime with ${wanted}.`;
  return [{ code: 'PYTHON_REPLACED', message, remedy }];
}

/** Compute Engine rejects a VM whose image is for other processors than its machine type has. */
function checkArchitecture(
  { name, architecture }: RuntimeFound,
  spec: JobSpec,
  intake: IntakeSettings,
): readonly Problem[] {
  const isForeign = ({ machineType }: ReplicaGroup) => intake.architectureOf(machineType) !== architecture;
  const own = COMPUTE_ARCHITECTURES[architecture];
  return firstOfMachineType(spec.replicaGroups.filter(isForeign)).map(({ role, machineType }) => {
    const foreign = intake.architectureOf(machineType);
    return {
      code: 'RUNTIME_ARCHITECTURE',
      message: `The ${role} runs on ${machineType}, whose processors are ${COMPUTE_ARCHITECTURES[foreign]}, and the image of runtime ${name} is for ${own}.`,
      remedy: spec.replicaGroups.every(isForeign)
        ? remedyOfArchitecture(foreign, spec, intake)
        : `All machines of a job boot from one runtime: choose machine types with ${own} processors only.`,
    };
  });
}

function remedyOfArchitecture(
  architecture: Architecture,
  { runtimeVersion, replicaGroups }: JobSpec,
  { runtimeOf, runtimeVersions }: IntakeSettings,
): string {
  const types = replicaGroups.flatMap((group) => gpusOf(group)?.type ?? []);
  const fitting = runtimeVersions.filter((version) => {
    const runtime = runtimeOf(version);
    return runtime?.architecture === architecture && types.every((type) => runtime.gpus?.includes(type) ?? true);
  });
  const otherMachine = `a machine type with ${COMPUTE_ARCHITECTURES[architecture === 'arm64' ? 'amd64' : 'arm64']} processors`;
  const key = JSON.stringify(`${runtimeVersion}-${architecture}`);
  return fitting.length > 0
    ? `Choose the runtime ${fitting.join(' or ')}, or ${otherMachine}.`
    : `Choose ${otherMachine}, or have an image added to terraform.tfvars, runtime_images = { …, ${key} = { image = "IMAGE", architecture = "${COMPUTE_ARCHITECTURES[architecture]}" } }, and choose that runtime.`;
}

/** One problem for each machine type, not for each role. */
function firstOfMachineType(groups: readonly ReplicaGroup[]): readonly ReplicaGroup[] {
  return groups.filter(
    (group, index) => groups.findIndex(({ machineType }) => machineType === group.machineType) === index,
  );
}

/** Some machine types boot from custom images only (Compute Engine docs, "Machine images", restrictions). */
function checkBootSource({ name, bootDiskGib }: RuntimeFound, { replicaGroups }: JobSpec): readonly Problem[] {
  if (bootDiskGib === null) {
    return [];
  }
  const others = replicaGroups.filter(({ machineType }) => !familyOf(machineType).bootsFromMachineImages);
  return firstOfMachineType(others).map(({ role, machineType }) => ({
    code: 'MACHINE_TYPE_NEEDS_IMAGE',
    message: `The ${role} runs on ${machineType}, which cannot be created from a machine image, and runtime ${name} has nothing else.`,
    remedy: `Choose another machine type, or have an image of the runtime added to terraform.tfvars, runtime_images = { …, ${JSON.stringify(name)} = { image = "IMAGE" } }.`,
  }));
}

/** A driver that does not support the GPU leaves the program without it: Blackwell needs NVIDIA's open modules. */
function checkGpus(
  { name, gpus, architecture }: RuntimeFound,
  { replicaGroups }: JobSpec,
  { runtimeOf, runtimeVersions, architectureOf }: IntakeSettings,
): readonly Problem[] {
  // An image for other processors has a problem of its own, whose remedy considers the GPU.
  const bootable = replicaGroups.filter(({ machineType }) => architectureOf(machineType) === architecture);
  const types = [...new Set(bootable.flatMap((group) => gpusOf(group)?.type ?? []))];
  const unsupported = types.filter((type) => gpus !== null && !gpus.includes(type));
  return unsupported.map((type) => {
    const others = runtimeVersions.filter((version) => {
      const other = runtimeOf(version);
      return other?.architecture === architecture && other.gpus?.includes(type);
    });
    const instead = others.length === 0 ? 'have an image for it added to runtime_images' : others.join(' or ');
    return {
      code: 'GPU_NOT_IN_RUNTIME',
      message: `The image of runtime ${name} does not support the GPU ${type}.`,
      remedy: `Choose ${others.length === 0 ? 'another GPU, or ' : 'the runtime '}${instead}.`,
    };
  });
}

/** A machine image fixes the size of its disk: a VM with a smaller disk than requested would fail after hours. */
function checkDisks({ name, bootDiskGib }: RuntimeFound, { replicaGroups }: JobSpec): readonly Problem[] {
  if (bootDiskGib === null) {
    return [];
  }
  const others = replicaGroups.filter((group) => group.bootDiskGib !== bootDiskGib);
  return others.map((group) => ({
    code: 'DISK_OF_MACHINE_IMAGE',
    message: `The ${group.role} requests a boot disk of ${group.bootDiskGib} GiB, but runtime ${name} boots from machine images only, whose disk has ${bootDiskGib} GiB.`,
    remedy: `Request ${bootDiskGib} GiB or no size, or have an image of the runtime added to runtime_images.`,
  }));
}
