import { type JobIn, type ReplicaId, remainingRunningMs } from '#shared/domain/job.ts';
import { provisioningModelOf } from '#shared/domain/job-spec.ts';
import { waitDeadlineOf } from '#shared/domain/rules/limits.ts';
import {
  CAPACITY_WAIT_MS_MAX,
  CAPACITY_WAIT_MS_MIN,
  SETUP_MS_MAX,
  type Timeouts,
  UPLOAD_GRACE_MS,
} from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { METADATA_KEYS } from '#shared/protocol/vm-config.ts';
import { groupOf, vmConfigOf } from '#shared/use-cases/provision/vm-config-of.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';

/**
 * Compute Engine's limit on `maxRunDuration`: 120 days, and 7 days for Flex-start VMs (docs, "About Flex-start VMs").
 */
const MAX_RUN_SECONDS_MAX = { STANDARD: 120 * 86_400, SPOT: 120 * 86_400, FLEX_START: 7 * 86_400 } as const;

/** A new attempt always has time left; at least a second, so that it is the agent that reports when it is used up. */
const REMAINING_MS_MIN = 1_000;

export type VmContext = { readonly settings: VmSettings; readonly timeouts: Timeouts };

/** The request for one replica's VM, a pure function of job and settings, so that a repeated request is identical. */
export function vmRequestOf(job: JobIn<'PREPARING'>, replica: ReplicaId, { settings, timeouts }: VmContext): VmRequest {
  const group = groupOf(job.spec, replica.role);
  const provisioningModel = provisioningModelOf(group, job.placement.provisioningModel);
  const remainingMs = Math.max(REMAINING_MS_MIN, remainingRunningMs(job));
  // maxRunningTime counts from the master's start. Other programs may have started, and waited, a whole setup earlier.
  const programMs = replica.role === 'master' ? remainingMs : remainingMs + SETUP_MS_MAX;
  const config = vmConfigOf(job, replica, { settings, programMs });
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
    provisioningModel,
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
    maxRunSeconds: Math.min(MAX_RUN_SECONDS_MAX[provisioningModel], Math.ceil(aliveMs / 1_000)),
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
