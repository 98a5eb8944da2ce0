import { countGpus } from '#shared/catalog/catalog.ts';
import { argvOf, imageDiskBytesOf, moduleOf } from '#shared/domain/container.ts';
import { parseImageReference } from '#shared/domain/image-reference.ts';
import { type AttemptRecord, type JobIn, type ReplicaId, replicaName, replicasOf } from '#shared/domain/job.ts';
import {
  type ContainerProgram,
  type JobSpec,
  type Program,
  type ReplicaGroup,
  withDefaults,
} from '#shared/domain/job-spec.ts';
import { ROLES, type Role } from '#shared/domain/replica-name.ts';
import { FINAL_SAVE_MS_MAX, SETUP_MS_MAX, SETUP_REPORT_MS, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { toTrainingInputDictionary } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import { toCustomJobSpecDictionary } from '#shared/job-file/formats/vertex-ai/custom-job-spec-dictionary.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { withoutRepetitions } from '#shared/use-cases/provision/repeated-arguments.ts';
import { vmHealthOf } from '#shared/use-cases/provision/vm-health-of.ts';
import type { CachedEnvironments, ConfigSettings } from '#shared/use-cases/provision/vm-settings.ts';
import { wandbVariablesOf } from '#shared/use-cases/provision/wandb-variables.ts';

/** The parts of a job that its VMs are configured with. */
export type ConfiguredJob = Pick<
  JobIn<'PREPARING'>,
  'jobId' | 'attempt' | 'spec' | 'packages' | 'trial' | 'warnings' | 'placedAt' | 'createdAt'
> & {
  readonly ledger: readonly Pick<AttemptRecord, 'ranAt' | 'endedAt'>[];
};

/**
 * The value of the metadata attribute `dropforge-config` of one replica's VM, whose program may run for `programMs`. Each
 * list of arguments stands in it once.
 */
export function vmConfigOf(
  job: ConfiguredJob,
  { role, index }: ReplicaId,
  { settings, programMs }: { readonly settings: ConfigSettings; readonly programMs: number },
): VmConfig {
  const { spec, trial } = job;
  const group = groupOf(spec, role);
  const program = group.program ?? spec.program;
  const { environmentCache, ...options } = withDefaults(spec.programOptions);
  return withoutRepetitions({
    spec: {
      projectId: settings.projectId,
      jobId: job.jobId,
      attempt: job.attempt,
      role,
      index,
      module: moduleOf(program),
      command: program.kind === 'PYTHON' ? (program.command ?? []) : [],
      args: program.kind === 'PYTHON' ? program.args : [],
      passesJobDir: spec.passesJobDir,
      environment: environmentOf(program, spec, wandbVariablesOf(job, { role, index }, settings.projectId)),
      jobDir: spec.jobDir,
      cluster: clusterOf(job, settings),
      trainingInput: toTrainingInputDictionary(spec),
      clusterSpec: clusterSpecOf(job, settings),
      trial: trial === null ? null : { trialId: String(trial.ordinal), metricIds: trial.metricIds },
    },
    endpoints: settings.endpoints,
    secrets: secretsOf(spec, settings.projectId),
    packages: packagesOf(job, program),
    container: program.kind === 'CONTAINER' ? containerOf(program, settings) : null,
    options,
    replicaCount: replicasOf(spec).length,
    peers: peersOf(job, settings),
    gpuCount: settings.hasRequestedGpus ? countGpus(group) : 0,
    limits: limitsOf(job, group, { limits: settings.limits, programMs }),
    intervals: settings.intervals,
    cachedEnvironments: environmentCache ? cachedEnvironmentsFor(spec, settings) : null,
    notes: job.warnings
      .filter(({ code }) => code === 'PATH_FROM_SCRIPT')
      .map(({ message, remedy }) => `${message} ${remedy}`),
    health: vmHealthOf(spec.health, { role, index }),
  });
}

function limitsOf(
  job: ConfiguredJob,
  { bootDiskGib }: ReplicaGroup,
  { limits, programMs }: Pick<ConfigSettings, 'limits'> & { readonly programMs: number },
): VmConfig['limits'] {
  const { diskBytesMax, ...others } = limits;
  const bootDiskBytesMax = Math.floor(bootDiskGib * 2 ** 30 * 0.95);
  return {
    ...others,
    maxRunningSeconds: programMs / 1_000,
    setupSeconds: (SETUP_MS_MAX - SETUP_REPORT_MS) / 1_000,
    // The agent stops first and reports why: the rules add `maxRunningGraceMs`.
    uploadSeconds: UPLOAD_GRACE_MS / 1_000,
    finalSaveSeconds: FINAL_SAVE_MS_MAX / 1_000,
    earlierSaveSeconds: earlierSaveSecondsOf(job, limits.stopGraceSeconds),
    keepOnFailureSeconds: job.spec.limits.keepOnFailureMs / 1_000,
    diskBytesMax: Math.min(diskBytesMax, bootDiskBytesMax),
    diskSetting: diskBytesMax < bootDiskBytesMax ? 'diskBytesMax' : 'bootDiskSizeGb',
  };
}

/** A master whose peer was lost is healthy, and saves while the VMs of the next attempt boot. Alone, it was itself lost. */
function earlierSaveSecondsOf({ ledger, spec, placedAt }: ConfiguredJob, stopGraceSeconds: number): number {
  const saveMs = stopGraceSeconds * 1_000 + FINAL_SAVE_MS_MAX;
  const last = ledger.findLast(({ ranAt }) => ranAt !== null);
  const maySave = last !== undefined && last.endedAt + saveMs >= placedAt;
  return maySave && replicasOf(spec).length > 1 ? saveMs / 1_000 : 0;
}

/** The replicas of a role; the master's if the job has none of it. */
export function groupOf({ replicaGroups }: JobSpec, wanted: Role): ReplicaGroup {
  return replicaGroups.find(({ role }) => role === wanted) ?? replicaGroups[0];
}

function cachedEnvironmentsFor({ serviceAccount }: JobSpec, settings: ConfigSettings): CachedEnvironments | null {
  const shared = settings.cachedEnvironments;
  return (serviceAccount === null ? shared : settings.cachedEnvironmentsOf?.(serviceAccount)) ?? null;
}

/** The job's variables, and defaults that it does not set. An empty value of the job leaves out the default. */
function environmentOf(program: Program, { secrets }: JobSpec, defaults: Readonly<Record<string, string>>) {
  const environment = Object.entries({ ...defaults, ...program.environment });
  return Object.fromEntries(
    environment.filter(([name, value]) => !(name in defaults && (value === '' || name in secrets))),
  );
}

function packagesOf({ packages }: ConfiguredJob, program: Program): VmConfig['packages'] {
  const module = moduleOf(program);
  return packages
    .filter(({ uri }) => program.packageUris.includes(uri))
    .map(({ layouts, ...ref }) => ({
      ...ref,
      layout: layouts?.find((pinned) => pinned.module === module)?.layout ?? null,
    }));
}

function containerOf(program: ContainerProgram, { imageCredentialsOf }: ConfigSettings): VmConfig['container'] {
  if (program.image === null) {
    // Intake accepts a container with its pinned image only, so this is a defect.
    throw new Error(`The image ${program.imageUri} was not pinned.`);
  }
  const { uri, sizeBytes, user, workingDir } = program.image;
  return {
    image: uri,
    sizeBytes,
    ...imageDiskBytesOf(program.image),
    argv: argvOf(program),
    user,
    workingDirectory: workingDir,
    ...imageCredentialsOf(parseImageReference(uri)?.host ?? ''),
  };
}

function secretsOf({ secrets }: JobSpec, projectId: string): Record<string, string> {
  const named = Object.entries(secrets);
  return Object.fromEntries(
    named.map(([variable, { project, secret, version }]) => [
      variable,
      `projects/${project ?? projectId}/secrets/${secret}/versions/${version}`,
    ]),
  );
}

/**
 * `TF_CONFIG`'s cluster: the master is called `chief`; evaluators are never in it (AI Platform, distributed training
 * details).
 */
function clusterOf(job: ConfiguredJob, settings: ConfigSettings): Record<string, string[]> {
  const { evaluator: _, master = [], ...others } = addressesByRole(job, settings);
  return { chief: master, ...others };
}

/** Vertex AI's form of the same: its worker pools are the roles in this order, evaluators included. */
function clusterSpecOf(job: ConfiguredJob, settings: ConfigSettings): VmConfig['spec']['clusterSpec'] {
  if (job.spec.service === 'AI_PLATFORM') {
    return null;
  }
  const addresses = addressesByRole(job, settings);
  const pools = ROLES.map((role, pool) => [`workerpool${pool}`, addresses[role] ?? []] as const);
  return {
    cluster: Object.fromEntries(pools.filter(([_, hosts]) => hosts.length > 0)),
    job: toCustomJobSpecDictionary(job.spec),
  };
}

function peersOf({ jobId, attempt, spec }: ConfiguredJob, { peerAddressOf }: ConfigSettings): VmConfig['peers'] {
  const replicas = replicasOf(spec).map(replicaName);
  const vmName = vmNameOf(jobId, attempt, { role: 'master', index: 0 });
  return replicas.length > 1 ? { address: peerAddressOf({ jobId, attempt, position: 0, vmName }), replicas } : null;
}

function addressesByRole(
  { jobId, attempt, spec }: ConfiguredJob,
  { clusterAddressOf }: ConfigSettings,
): Partial<Record<Role, string[]>> {
  const addresses: Partial<Record<Role, string[]>> = {};
  for (const [position, replica] of replicasOf(spec).entries()) {
    const address = clusterAddressOf({ jobId, attempt, position, vmName: vmNameOf(jobId, attempt, replica) });
    addresses[replica.role] = [...(addresses[replica.role] ?? []), address];
  }
  return addresses;
}
