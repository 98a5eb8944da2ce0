import { familyOf, gpusOf } from '#shared/catalog/catalog.ts';
import { type Architecture, COMPUTE_ARCHITECTURES } from '#shared/domain/architecture.ts';
import type { JobSpec, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Study } from '#shared/domain/study.ts';
import { NO_VMS } from '#shared/domain/vm-limits.ts';
import { type Dialect, fieldPath } from '#shared/job-file/draft/job-draft.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { IntakeSettings, RuntimeFound } from '#shared/use-cases/intake/intake-settings.ts';
import { findExceededLimit, usageOfPlacement } from '#shared/use-cases/limits/vm-usage.ts';

type RequestedRuntime = {
  readonly runtimeVersion: string;
  readonly pythonVersion: string | null;
  readonly dialect: Dialect;
  readonly replicaGroups: readonly Pick<ReplicaGroup, 'role' | 'bootDiskGib' | 'machineType' | 'accelerator'>[];
};

type Runtimes = Pick<IntakeSettings, 'runtimeOf' | 'runtimeVersions' | 'architectureOf'>;

/**
 * Whether the deployment offers the job's runtime with its boot disks, for its processors and GPUs. A missing runtime
 * is a problem; a runtime that replaces it is a warning.
 */
export function checkRuntime(
  requested: RequestedRuntime,
  runtimes: Runtimes,
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const { runtimeVersion, dialect } = requested;
  const { runtimeOf, runtimeVersions } = runtimes;
  const path = fieldPath(dialect, 'runtimeVersion');
  const runtime = runtimeOf(runtimeVersion);
  if (runtime === undefined) {
    const message = `This deployment has no image for runtime ${runtimeVersion}.`;
    const remedy = `Choose one of ${runtimeVersions.join(', ')}, or have an image added to runtime_images.`;
    return { problems: [{ code: 'UNKNOWN_RUNTIME', message, remedy, path }], warnings: [] };
  }
  const problems = [
    ...checkDisks(runtime, requested.replicaGroups),
    ...checkBootSource(runtime, requested),
    ...checkArchitecture(runtime, requested, runtimes),
    ...checkGpus(runtime, requested, runtimes),
  ];
  const warnings = checkPython(runtime, requested);
  if (runtime.name === runtimeVersion) {
    return { problems, warnings };
  }
  const note = runtime.note === null ? '' : ` ${runtime.note}`;
  const message = `Runtime ${runtimeVersion} is not available: the job runs on ${runtime.name}.${note}`;
  const remedy =
    runtime.remedy ??
    `Check that the program runs on ${runtime.name} and set it as the runtime version, or have an image of your own added.`;
  return { problems, warnings: [{ code: 'RUNTIME_REPLACED', message, remedy, path }, ...warnings] };
}

/** A job runs on the Python of its image, whatever it requests. The job file check has reported Python 2 already. */
function checkPython({ pythonVersion }: RuntimeFound, requested: RequestedRuntime): readonly Problem[] {
  const wanted = requested.pythonVersion;
  if (pythonVersion === null || wanted === null || wanted.startsWith('2.')) {
    return [];
  }
  if (`${pythonVersion}.`.startsWith(`${wanted}.`) || wanted.startsWith(`${pythonVersion}.`)) {
    return [];
  }
  const message = `The job requests Python ${wanted}, but its runtime has Python ${pythonVersion}.`;
  const remedy = `Check that the program runs on ${pythonVersion} and set it, or choose a runtime with ${wanted}.`;
  return [{ code: 'PYTHON_REPLACED', message, remedy, path: fieldPath(requested.dialect, 'pythonVersion') }];
}

/** Compute Engine rejects a VM whose image is for other processors than its machine type has. */
function checkArchitecture(
  { name, architecture }: RuntimeFound,
  requested: RequestedRuntime,
  runtimes: Runtimes,
): readonly Problem[] {
  const isForeign = ({ machineType }: Pick<ReplicaGroup, 'machineType'>) =>
    runtimes.architectureOf(machineType) !== architecture;
  const own = COMPUTE_ARCHITECTURES[architecture];
  return firstOfMachineType(requested.replicaGroups.filter(isForeign)).map(({ role, machineType }) => {
    const foreign = runtimes.architectureOf(machineType);
    return {
      code: 'RUNTIME_ARCHITECTURE',
      message: `The ${role} runs on ${machineType}, whose processors are ${COMPUTE_ARCHITECTURES[foreign]}, and the image of runtime ${name} is for ${own}.`,
      remedy: requested.replicaGroups.every(isForeign)
        ? remedyOfArchitecture(foreign, requested, runtimes)
        : `All machines of a job boot from one runtime: choose machine types with ${own} processors only.`,
      path: fieldPath(requested.dialect, 'runtimeVersion'),
    };
  });
}

function remedyOfArchitecture(
  architecture: Architecture,
  { runtimeVersion, replicaGroups }: RequestedRuntime,
  { runtimeOf, runtimeVersions }: Runtimes,
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
function firstOfMachineType<Group extends Pick<ReplicaGroup, 'machineType'>>(groups: readonly Group[]) {
  return groups.filter(
    (group, index) => groups.findIndex(({ machineType }) => machineType === group.machineType) === index,
  );
}

/** Some machine types boot from custom images only (Compute Engine docs, "Machine images", restrictions). */
function checkBootSource(
  { name, bootDiskGib }: RuntimeFound,
  { dialect, replicaGroups }: RequestedRuntime,
): readonly Problem[] {
  if (bootDiskGib === null) {
    return [];
  }
  const others = replicaGroups.filter(({ machineType }) => !familyOf(machineType).bootsFromMachineImages);
  return firstOfMachineType(others).map(({ role, machineType }) => ({
    code: 'MACHINE_TYPE_NEEDS_IMAGE',
    message: `The ${role} runs on ${machineType}, which cannot be created from a machine image, and runtime ${name} has nothing else.`,
    remedy: `Choose another machine type, or have an image of the runtime added to terraform.tfvars, runtime_images = { …, ${JSON.stringify(name)} = { image = "IMAGE" } }.`,
    path: fieldPath(dialect, 'runtimeVersion'),
  }));
}

/** A driver that does not support the GPU leaves the program without it: Blackwell needs NVIDIA's open modules. */
function checkGpus(
  { name, gpus, architecture }: RuntimeFound,
  { dialect, replicaGroups }: RequestedRuntime,
  { runtimeOf, runtimeVersions, architectureOf }: Runtimes,
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
      path: fieldPath(dialect, 'runtimeVersion'),
    };
  });
}

/** A machine image fixes the size of its disk: a VM with a smaller disk than requested would fail after hours. */
function checkDisks(
  { name, bootDiskGib }: RuntimeFound,
  groups: RequestedRuntime['replicaGroups'],
): readonly Problem[] {
  if (bootDiskGib === null) {
    return [];
  }
  const others = groups.filter((group) => group.bootDiskGib !== bootDiskGib);
  return others.map((group) => ({
    code: 'DISK_OF_MACHINE_IMAGE',
    message: `The ${group.role} requests a boot disk of ${group.bootDiskGib} GiB, but runtime ${name} boots from machine images only, whose disk has ${bootDiskGib} GiB.`,
    remedy: `Request ${bootDiskGib} GiB or no size, or have an image of the runtime added to runtime_images.`,
  }));
}

export async function checkJobDir(
  objects: ObjectStore,
  { jobDir }: JobSpec,
  dialect: Dialect,
): Promise<readonly Problem[]> {
  const { bucket } = parseGsUri(jobDir);
  if (await objects.hasBucket(bucket)) {
    return [];
  }
  const message = `The bucket ${bucket} of the job directory ${jobDir} does not exist, or this deployment may not read it.`;
  const remedy = `Create the bucket, and on Google Cloud grant on it roles/storage.legacyBucketReader to the accounts on-upload and on-submit, and roles/storage.objectUser to vm (terraform output service_accounts); or leave the field out to use a directory in the deployment's bucket.`;
  return [{ code: 'JOB_DIR_BUCKET_MISSING', message, remedy, path: fieldPath(dialect, 'jobDir') }];
}

/** `zones`: those of the job that the deployment uses. */
export function checkZones(zones: readonly string[], { region }: JobSpec, dialect: Dialect): readonly Problem[] {
  const message = `This deployment uses no zone of ${region} that offers the job's machine types.`;
  const remedy = 'Choose another region, or have the zones of the deployment extended.';
  return zones.length > 0 ? [] : [{ code: 'NO_ZONE', message, remedy, path: fieldPath(dialect, 'region') }];
}

/** A job that exceeds a limit by itself would wait indefinitely. */
export function checkVmLimits(spec: JobSpec, { vmLimits }: Pick<IntakeSettings, 'vmLimits'>): readonly Problem[] {
  const exceeded = findExceededLimit(spec, NO_VMS, vmLimits);
  if (exceeded === null) {
    return [];
  }
  const { metric, message, limit } = exceeded;
  const code = metric === 'VMS_MAX' ? 'TOO_MANY_REPLICAS' : 'PRICE_LIMIT_EXCEEDED';
  const remedy = `Request fewer replicas or another machine type, or ${limit.remedy}.`;
  return [{ code, message, remedy }];
}

/**
 * The study with as many parallel trials as can have VMs at the same time. More would only wait for each other, and
 * their values would be chosen with fewer results.
 */
export function limitParallelTrials(
  study: Study,
  spec: JobSpec,
  { vmLimits }: Pick<IntakeSettings, 'vmLimits'>,
): { readonly study: Study; readonly warnings: readonly Problem[] } {
  const { vms, microUsdPerHour } = usageOfPlacement(spec);
  const { VMS_MAX: vmsMax, USD_PER_HOUR_MAX: usdMax } = vmLimits;
  const [narrowest] = [
    vmsMax && { ...vmsMax, most: vmsMax.max / vms },
    usdMax && { ...usdMax, most: (usdMax.max * 1e6) / microUsdPerHour },
  ]
    .filter((limit) => limit !== undefined)
    .sort((a, b) => a.most - b.most);
  const most = Math.max(1, Math.floor(narrowest?.most ?? Infinity));
  if (narrowest === undefined || study.parallelTrialsMax <= most) {
    return { study, warnings: [] };
  }
  const message = `${most} of the ${study.parallelTrialsMax} parallel trials run at a time: ${narrowest.reason}.`;
  return {
    study: { ...study, parallelTrialsMax: most },
    warnings: [{ code: 'PARALLEL_TRIALS_LIMITED', message, remedy: `To run more, ${narrowest.remedy}.` }],
  };
}
