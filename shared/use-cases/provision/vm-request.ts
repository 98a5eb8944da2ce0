import { countGpus } from '#shared/catalog/catalog.ts';
import { argvOf } from '#shared/domain/container.ts';
import { imageHostOf } from '#shared/domain/image-reference.ts';
import { type JobIn, type ReplicaId, remainingRunningMs, replicasOf, type TrialRef } from '#shared/domain/job.ts';
import { type ContainerProgram, type JobSpec, type ReplicaGroup, ROLES, type Role } from '#shared/domain/job-spec.ts';
import { waitDeadlineOf } from '#shared/domain/rules/limits.ts';
import {
  CAPACITY_WAIT_MS_MAX,
  CAPACITY_WAIT_MS_MIN,
  SETUP_MS_MAX,
  SETUP_REPORT_MS,
  type Timeouts,
  UPLOAD_GRACE_MS,
} from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { toTrainingInputDictionary } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import { toCustomJobSpecDictionary } from '#shared/job-file/formats/vertex-ai/custom-job-spec-dictionary.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import type { AgentRef } from '#shared/protocol/agent-ref.ts';
import { withDefaults } from '#shared/protocol/program-options.ts';
import { METADATA_KEYS, type VmConfig } from '#shared/protocol/vm-config.ts';
import type { ImageCredentials } from '#shared/use-cases/provision/image-credentials.ts';

type CachedEnvironments = NonNullable<VmConfig['cachedEnvironments']>;

/** What every VM of the deployment is created from, whatever its job. */
export type VmSettings = {
  readonly projectId: string;
  readonly endpoints: VmConfig['endpoints'];
  readonly intervals: VmConfig['intervals'];
  /** Undefined: VMs install their packages at every start. */
  readonly cachedEnvironments?: CachedEnvironments;
  /**
   * The same for VMs of a job with its own service account, which has no access to what others have installed, nor the
   * other way round; undefined for accounts without a place.
   */
  readonly cachedEnvironmentsOf?: (serviceAccount: string) => CachedEnvironments | undefined;
  readonly limits: Pick<
    VmConfig['limits'],
    'stopGraceSeconds' | 'preemptionNoticeSeconds' | 'controlPlaneTimeoutSeconds' | 'logBytesMax'
  > & {
    /** Limit on disk usage if the machine has no disk of its own, as in the embedded cloud. */
    readonly diskBytesMax: number;
  };
  /** Whether VMs have the GPUs that they request; the embedded cloud's have those of its machine, if any. */
  readonly hasRequestedGpus: boolean;
  /** How VMs log in to the registry of an image, by its host. */
  readonly imageCredentialsOf: (host: string) => ImageCredentials;
  /** `startup.sh` and `shutdown.sh`. */
  readonly startupScript: string;
  readonly shutdownScript: string;
  readonly agent: AgentRef;
  readonly machineImageOf: (runtimeVersion: string) => string;
  /** `host:port` at which the other replicas of a job reach this one. */
  readonly clusterAddressOf: (member: ClusterMember) => string;
};

export type ClusterMember = {
  readonly jobId: string;
  readonly attempt: number;
  readonly vmName: string;
  /** The replica's position among all replicas of the job, from 0. */
  readonly position: number;
};

/**
 * Compute Engine's limit on `maxRunDuration`: 120 days, and 7 days for Flex-start VMs (docs, "About Flex-start VMs").
 */
const MAX_RUN_SECONDS_MAX = { STANDARD: 120 * 86_400, SPOT: 120 * 86_400, FLEX_START: 7 * 86_400 } as const;

/** A new attempt always has time left; at least a second, so that it is the agent that reports when it is used up. */
const REMAINING_MS_MIN = 1_000;

export type VmContext = { readonly settings: VmSettings; readonly timeouts: Timeouts };

/** The request for one replica's VM, a pure function of job and settings, so that a repeated request is identical. */
export function vmRequestOf(job: JobIn<'PREPARING'>, replica: ReplicaId, { settings, timeouts }: VmContext): VmRequest {
  const group = job.spec.replicaGroups.find(({ role }) => role === replica.role) ?? job.spec.replicaGroups[0];
  const remainingMs = Math.max(REMAINING_MS_MIN, remainingRunningMs(job));
  // maxRunningTime counts from the master's start. Other programs may have started, and waited, a whole setup earlier.
  const programMs = replica.role === 'master' ? remainingMs : remainingMs + SETUP_MS_MAX;
  const config = vmConfigOf(job, replica, { settings, programMs, group });
  const runMs = timeouts.bootMs + SETUP_MS_MAX + remainingMs + timeouts.maxRunningGraceMs + UPLOAD_GRACE_MS;
  const aliveMs = runMs + job.spec.limits.keepOnFailureMs;
  return {
    ...replica,
    vmName: vmNameOf(job.jobId, job.attempt, replica),
    zone: job.placement.zone,
    jobId: job.jobId,
    attempt: job.attempt,
    machineType: group.machineType,
    accelerator: group.accelerator,
    provisioningModel: job.placement.provisioningModel,
    machineImage: job.placement.machineImage,
    bootDiskGib: group.bootDiskGib,
    bootDiskType: group.bootDiskType,
    reservation: group.reservation,
    serviceAccount: job.spec.serviceAccount,
    subnetwork: job.spec.subnetwork,
    networkAttachment: job.spec.networkAttachment,
    kmsKeyName: job.spec.kmsKeyName,
    labels: job.spec.labels,
    capacityWaitSeconds: capacityWaitSecondsOf(job),
    maxRunSeconds: Math.min(MAX_RUN_SECONDS_MAX[job.placement.provisioningModel], Math.ceil(aliveMs / 1_000)),
    metadata: {
      'startup-script': settings.startupScript,
      'shutdown-script': settings.shutdownScript,
      [METADATA_KEYS.agent]: JSON.stringify(settings.agent),
      [METADATA_KEYS.config]: JSON.stringify(config),
    },
  };
}

/** Not longer than the job may wait. Derived from the placement, so that a repeated request is identical. */
function capacityWaitSecondsOf(job: JobIn<'PREPARING'>): number | null {
  if (job.placement.provisioningModel !== 'FLEX_START') {
    return null;
  }
  const leftMs = (waitDeadlineOf(job) ?? Number.POSITIVE_INFINITY) - job.placedAt;
  return Math.ceil(Math.min(CAPACITY_WAIT_MS_MAX, Math.max(CAPACITY_WAIT_MS_MIN, leftMs)) / 1_000);
}

function vmConfigOf(
  job: JobIn<'PREPARING'>,
  { role, index }: ReplicaId,
  given: { readonly settings: VmSettings; readonly programMs: number; readonly group: ReplicaGroup },
): VmConfig {
  const { settings, programMs, group } = given;
  const { diskBytesMax, ...limits } = settings.limits;
  const bootDiskBytesMax = Math.floor(group.bootDiskGib * 2 ** 30 * 0.95);
  return {
    projectId: settings.projectId,
    jobId: job.jobId,
    attempt: job.attempt,
    role,
    index,
    endpoints: settings.endpoints,
    program: programOf(job, role, settings),
    jobDir: job.spec.jobDir,
    cluster: clusterOf(job, settings),
    replicaCount: replicasOf(job.spec).length,
    clusterSpec: clusterSpecOf(job, settings),
    gpuCount: settings.hasRequestedGpus ? countGpus(group) : 0,
    trainingInput: toTrainingInputDictionary(job.spec),
    limits: {
      ...limits,
      maxRunningSeconds: programMs / 1_000,
      setupSeconds: (SETUP_MS_MAX - SETUP_REPORT_MS) / 1_000,
      // The agent stops first and reports why: the rules add `maxRunningGraceMs`.
      uploadSeconds: UPLOAD_GRACE_MS / 1_000,
      keepOnFailureSeconds: job.spec.limits.keepOnFailureMs / 1_000,
      diskBytesMax: Math.min(diskBytesMax, bootDiskBytesMax),
      diskSetting: diskBytesMax < bootDiskBytesMax ? 'diskBytesMax' : 'bootDiskSizeGb',
    },
    intervals: settings.intervals,
    trial: job.trial === null ? null : trialOf(job.trial),
    health: healthOf(job.spec),
    cachedEnvironments: cachedEnvironmentsFor(job.spec, settings),
  };
}

function cachedEnvironmentsFor({ serviceAccount }: JobSpec, settings: VmSettings): CachedEnvironments | null {
  const shared = settings.cachedEnvironments;
  return (serviceAccount === null ? shared : settings.cachedEnvironmentsOf?.(serviceAccount)) ?? null;
}

function trialOf({ ordinal, metricIds }: TrialRef): NonNullable<VmConfig['trial']> {
  return { trialId: String(ordinal), metricIds: [...metricIds] };
}

function healthOf({ health }: JobSpec): VmConfig['health'] {
  const { stalledAfterMs, ...actions } = health;
  return { ...actions, ...(stalledAfterMs !== undefined && { stalledAfterSeconds: stalledAfterMs / 1_000 }) };
}

function programOf({ spec, packages }: JobIn<'PREPARING'>, role: Role, settings: VmSettings): VmConfig['program'] {
  const program = spec.replicaGroups.find((group) => group.role === role)?.program ?? spec.program;
  const ofPackages = packages.filter(({ uri }) => program.packageUris.includes(uri));
  const common = {
    passesJobDir: spec.passesJobDir,
    environment: { ...program.environment },
    secrets: secretsOf(spec, settings.projectId),
    packages: ofPackages,
    ...withDefaults(spec.programOptions),
  };
  return program.kind === 'CONTAINER'
    ? { module: '', args: [], container: containerOf(program, settings), ...common }
    : { module: program.module, args: [...program.args], container: null, ...common };
}

function containerOf(
  program: ContainerProgram,
  { imageCredentialsOf }: VmSettings,
): NonNullable<VmConfig['program']['container']> {
  if (program.image === null) {
    // Intake accepts a container with its pinned image only, so this is a defect.
    throw new Error(`The image ${program.imageUri} was not pinned.`);
  }
  const { uri, sizeBytes, user, workingDir } = program.image;
  const credentials = imageCredentialsOf(imageHostOf(uri) ?? '');
  return { image: uri, sizeBytes, argv: [...argvOf(program)], user, workingDir, credentials };
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
function clusterOf(job: JobIn<'PREPARING'>, settings: VmSettings): Record<string, string[]> {
  const { evaluator: _, master = [], ...others } = addressesByRole(job, settings);
  return { chief: master, ...others };
}

/** Vertex AI's form of the same: its worker pools are the roles in this order, evaluators included. */
function clusterSpecOf(job: JobIn<'PREPARING'>, settings: VmSettings): VmConfig['clusterSpec'] {
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

function addressesByRole(
  { jobId, attempt, spec }: JobIn<'PREPARING'>,
  { clusterAddressOf }: VmSettings,
): Partial<Record<Role, string[]>> {
  const addresses: Partial<Record<Role, string[]>> = {};
  for (const [position, replica] of replicasOf(spec).entries()) {
    const address = clusterAddressOf({ jobId, attempt, position, vmName: vmNameOf(jobId, attempt, replica) });
    addresses[replica.role] = [...(addresses[replica.role] ?? []), address];
  }
  return addresses;
}
