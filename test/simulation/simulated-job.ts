import type { Job } from '#shared/domain/job.ts';
import type { ProvisioningModel, ReplicaGroup } from '#shared/domain/job-spec.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { cachedEnvironmentsIn } from '#shared/use-cases/provision/cached-environments.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import type { Prng } from './prng.ts';

export const ZONES = ['us-central1-a', 'us-central1-b', 'us-central1-c'];

const DAY_MS = 24 * 3_600_000;

export type Shape = {
  readonly maxRunningMs?: number;
  readonly provisioningModel?: ProvisioningModel;
  readonly keepOnFailureMs?: number;
  /** Replica groups besides the master. */
  readonly others?: readonly (Pick<ReplicaGroup, 'role' | 'count'> & Partial<ReplicaGroup>)[];
};

/** A job that was accepted at this time, with three zones; a single replica by default. */
export function simulatedJob(
  jobId: string,
  createdAt: number,
  { maxRunningMs = DAY_MS, keepOnFailureMs = 0, provisioningModel = 'STANDARD', others = [] }: Shape = {},
): Job {
  const job = queuedJob({ maxRunningMs, keepOnFailureMs });
  const [master] = job.spec.replicaGroups;
  const replicaGroups = [master, ...others.map((group) => ({ ...master, ...group }))] as const;
  const wakeAt = createdAt + TIMEOUTS.provisionAnswerMs;
  return {
    ...job,
    jobId,
    spec: { ...job.spec, jobId, jobDir: `gs://jobs/${jobId}`, replicaGroups, provisioningModel },
    zones: ZONES,
    createdAt,
    wakeAt,
  };
}

/** Clusters of one to four replicas. */
export function drawOthers(prng: Prng): NonNullable<Shape['others']> {
  const roles = Array.from({ length: prng.integer(4) }, () => OTHER_ROLES[prng.integer(OTHER_ROLES.length)]);
  return [...Map.groupBy(roles, (role) => role ?? 'worker')].map(([role, { length }]) => ({ role, count: length }));
}

/** Mostly workers. */
const OTHER_ROLES = ['worker', 'worker', 'worker', 'ps', 'evaluator'] as const;

export const simulatedSettings: VmSettings = {
  projectId: 'simulation',
  endpoints: {
    heartbeatUrl: 'http://heartbeat.invalid/',
    heartbeatAudience: 'heartbeat',
    storageUrl: 'http://storage.invalid',
    loggingUrl: 'http://logging.invalid',
    secretManagerUrl: 'http://secrets.invalid',
  },
  intervals: { heartbeatSeconds: 30, syncSeconds: 10, logSeconds: 2 },
  limits: {
    stopGraceSeconds: 20,
    preemptionNoticeSeconds: 120,
    controlPlaneTimeoutSeconds: 600,
    logBytesMax: 1,
    diskBytesMax: 1_000,
  },
  startupScript: '#!/bin/bash',
  shutdownScript: '#!/bin/bash',
  vmLimits: {},
  hasRequestedGpus: false,
  imageCredentialsOf: () => ({ credentials: 'NONE', credentialsSecret: null }),
  cachedEnvironments: cachedEnvironmentsIn('simulation-cache'),
  agent: { uri: `gs://simulation-sources/agent/${'ab'.repeat(32)}.pyz`, sha256: 'ab'.repeat(32) },
  machineImageOf: () => 'runtime-2-11',
  clusterAddressOf: ({ vmName }) => `${vmName}:2222`,
  peerAddressOf: ({ vmName }) => `${vmName}:2221`,
};
