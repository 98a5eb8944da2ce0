import type { Deadlines } from '#shared/domain/deadlines.ts';
import type { JobIn, ReplicaId, TimestampMs } from '#shared/domain/job.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { METADATA_KEYS, PROTOCOL_VERSION, type VmConfig } from '#shared/protocol/vm-config.ts';
import { toTrainingInputDictionary } from '#shared/spec/training-input-dictionary.ts';

/** What every VM is made from, whatever its job: settings of the deployment, and the programs it runs. */
export type VmSettings = {
  readonly projectId: string;
  readonly endpoints: VmConfig['endpoints'];
  readonly intervals: VmConfig['intervals'];
  readonly limits: Pick<VmConfig['limits'], 'stopGraceSeconds' | 'deadManSeconds' | 'logBytesMax'> & {
    /** Caps the boot disk's size where the machine has no disk of its own to fill. */
    readonly diskBytesMax: number;
  };
  /** `startup.sh`, and the agent as a base64 zipapp. */
  readonly startupScript: string;
  readonly agent: string;
  readonly machineImageOf: (runtimeVersion: string) => string;
};

/** Compute Engine's longest `maxRunDuration`, 120 days. */
const MAX_RUN_SECONDS_MAX = 120 * 86_400;

/** The port on which replicas find each other, as in all of Google's examples. */
const CLUSTER_PORT = 2222;

export type VmContext = { readonly now: TimestampMs; readonly settings: VmSettings; readonly deadlines: Deadlines };

/** The request for one replica's VM: everything in it follows from the job and the settings, nothing from chance. */
export function vmRequestOf(
  job: JobIn<'PREPARING'>,
  replica: ReplicaId,
  { now, settings, deadlines }: VmContext,
): VmRequest {
  const group = job.spec.replicaGroups.find(({ role }) => role === replica.role) ?? job.spec.replicaGroups[0];
  const remainingMs = remainingRunningMs(job, now);
  const config = vmConfigOf(job, replica, { settings, remainingMs, bootDiskGib: group.bootDiskGib });
  const aliveMs = remainingMs + deadlines.bootMs + deadlines.maxRunningGraceMs;
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
    maxRunSeconds: Math.min(MAX_RUN_SECONDS_MAX, Math.ceil(aliveMs / 1_000)),
    metadata: {
      'startup-script': settings.startupScript,
      [METADATA_KEYS.agent]: settings.agent,
      [METADATA_KEYS.config]: JSON.stringify(config),
    },
  };
}

/** What is left of maxRunningTime; at least a second, so that the agent is the one to say that it is over. */
function remainingRunningMs(job: JobIn<'PREPARING'>, now: TimestampMs): number {
  const { maxRunningMs } = job.spec.limits;
  return job.firstRanAt === null ? maxRunningMs : Math.max(1_000, job.firstRanAt + maxRunningMs - now);
}

function vmConfigOf(
  job: JobIn<'PREPARING'>,
  { role, index }: ReplicaId,
  given: { readonly settings: VmSettings; readonly remainingMs: number; readonly bootDiskGib: number },
): VmConfig {
  const { settings, remainingMs, bootDiskGib } = given;
  const { diskBytesMax, ...limits } = settings.limits;
  return {
    protocol: PROTOCOL_VERSION,
    projectId: settings.projectId,
    jobId: job.jobId,
    attempt: job.attempt,
    role,
    index,
    endpoints: settings.endpoints,
    program: { module: job.spec.program.module, args: [...job.spec.program.args], packages: [...job.packages] },
    jobDir: job.spec.jobDir,
    cluster: clusterOf(job),
    trainingInput: toTrainingInputDictionary(job.spec),
    limits: {
      ...limits,
      maxRunningSeconds: remainingMs / 1_000,
      diskBytesMax: Math.min(diskBytesMax, Math.floor(bootDiskGib * 2 ** 30 * 0.95)),
    },
    intervals: settings.intervals,
  };
}

/** `TF_CONFIG`'s cluster: the master is called `chief`; evaluators are never in it (AI Platform, distributed training details). */
function clusterOf(job: JobIn<'PREPARING'>): Record<string, string[]> {
  const cluster: Record<string, string[]> = {};
  for (const { role, count } of job.spec.replicaGroups) {
    if (role !== 'evaluator') {
      const hosts = Array.from({ length: count }, (_, index) => vmNameOf(job.jobId, job.attempt, { role, index }));
      cluster[role === 'master' ? 'chief' : role] = hosts.map((host) => `${host}:${CLUSTER_PORT}`);
    }
  }
  return cluster;
}
