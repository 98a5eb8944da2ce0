import { causeOf } from '#shared/domain/cause.ts';
import { isPlaced, type Job, type TimestampMs } from '#shared/domain/job.ts';
import { keepsVm, ownsVm } from '#shared/domain/ownership.ts';
import { attemptAll } from '#shared/machine/attempt-all.ts';
import { IncompleteListError, type Vm, type VmRemoval } from '#shared/ports/vm-provider.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import type { HeartbeatPorts } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { logDecision } from '#shared/use-cases/log-lines.ts';
import { wakeWaitingJobs } from '#shared/use-cases/provision/waiting-jobs.ts';
import { interruptAttempt, reportLostReplica } from '#shared/use-cases/reconcile/report-lost-replica.ts';

export type TeardownPorts = HeartbeatPorts & { readonly vms: VmRemoval };

/**
 * The teardown stage: deletes every VM of the job that its current attempt does not own, unless it is kept after its
 * failure. A CLOSING job is CLOSED once
 * Compute Engine lists none of its VMs; until then its deadline repeats the teardown. If a zone of the job is
 * unreachable, the listed VMs are deleted before the error is thrown.
 */
export async function teardown(ports: TeardownPorts, jobId: string, now: TimestampMs): Promise<void> {
  const job = (await ports.jobs.read(jobId))?.record;
  const { listed, incomplete } = await listVms(ports, { jobId });
  const orphans = orphansOf(job, listed);
  logDeletions(ports, job, orphans);
  const deletions = await Promise.all(orphans.map((vm) => ports.vms.delete(vm)));
  if (incomplete !== null && mayHideVms(incomplete, job)) {
    throw incomplete;
  }
  if (job === undefined || job.status === 'CLOSED') {
    return;
  }
  const isClosing = job.status === 'CLOSING';
  await ports.replicas.clearLeases(jobId, isClosing ? job.attempt : job.attempt - 1);
  const isGone = deletions.every((outcome) => outcome === 'GONE');
  if (isClosing && isGone && (await hasNoVms(ports, job))) {
    await handleJobEvent(ports, { type: 'VMS_GONE', eventId: `vms-gone-${job.attempt}`, jobId, at: now });
    await wakeWaitingJobs(ports, `${jobId}-closed`, now);
  } else if (isGone && (!isClosing || job.kept !== null)) {
    const { attempt, placementRound } = job;
    const of = `${attempt}-${placementRound}${isClosing ? '-closing' : ''}`;
    const event = { type: 'ENDED_PLACEMENTS_GONE', eventId: `ended-gone-${of}`, jobId, at: now } as const;
    await handleJobEvent(ports, { ...event, attempt, placementRound, isClosing });
    await wakeWaitingJobs(ports, `${jobId}-${of}`, now);
  }
}

/**
 * The sweep: compares Compute Engine's list of VMs with the jobs. Deletes orphaned VMs, such as one that was created
 * after its request had timed out, and reports VMs that stopped without an exit report. If the list is incomplete, the
 * listed VMs are handled before the error is thrown.
 */
export async function sweep(ports: TeardownPorts, now: TimestampMs): Promise<void> {
  const { listed, incomplete } = await listVms(ports);
  await attemptAll(
    Map.groupBy(listed, (vm) => vm.jobId),
    ([jobId, ofJob]) => sweepJob(ports, { jobId, ofJob, now }),
  );
  if (incomplete !== null) {
    throw incomplete;
  }
}

/** Whether Compute Engine lists no VM of the job in any zone in which it can have one. */
async function hasNoVms(ports: TeardownPorts, job: Job): Promise<boolean> {
  const { listed, incomplete } = await listVms(ports, { jobId: job.jobId });
  return listed.length === 0 && (incomplete === null || !mayHideVms(incomplete, job));
}

/** Whether VMs of the job may exist in a zone that could not be listed: all of its placements are in its own zones. */
function mayHideVms({ zones }: IncompleteListError, job: Job | undefined): boolean {
  return job === undefined || zones.some((zone) => job.zones.includes(zone));
}

/** The VMs that could be listed, and the error if there may be others. */
async function listVms(
  { vms }: TeardownPorts,
  query?: { readonly jobId: string },
): Promise<{ readonly listed: readonly Vm[]; readonly incomplete: IncompleteListError | null }> {
  try {
    return { listed: await vms.list(query), incomplete: null };
  } catch (error) {
    if (error instanceof IncompleteListError) {
      return { listed: error.seen, incomplete: error };
    }
    throw error;
  }
}

async function sweepJob(
  ports: TeardownPorts,
  { jobId, ofJob, now }: { readonly jobId: string; readonly ofJob: readonly Vm[]; readonly now: TimestampMs },
): Promise<void> {
  const job = (await ports.jobs.read(jobId))?.record;
  const orphans = orphansOf(job, ofJob);
  logDeletions(ports, job, orphans);
  // Not waited for: each deletion takes a minute or two, and all of a hundred orphans should be started in that time.
  await attemptAll(orphans, (vm) => ports.vms.delete(vm, { isWaitedFor: false }));
  const ended = ofJob.filter((vm) => vm.status === 'TERMINATED' && job !== undefined && ownsVm(job, vm));
  await attemptAll(ended, (vm) => reportEndedVm(ports, vm, now));
  if (job !== undefined && isPlaced(job) && job.endedPlacements > 0) {
    // Its teardown was lost. This list is older than the job, so that it does not show that no VM of them exists.
    await teardown(ports, jobId, now);
  }
}

function orphansOf(job: Job | undefined, vms: readonly Vm[]): readonly Vm[] {
  // A VM that is kept for a look and has powered itself off has nothing to look at.
  const isOwn = (owner: Job, vm: Vm) => ownsVm(owner, vm) || (keepsVm(owner, vm) && vm.status !== 'TERMINATED');
  return vms.filter((vm) => job === undefined || !isOwn(job, vm));
}

/** A VM that is being deleted already was logged before. */
function logDeletions({ logger }: TeardownPorts, job: Job | undefined, orphans: readonly Vm[]): void {
  for (const { jobId, attempt, vmName, zone, status } of orphans.filter((vm) => vm.status !== 'STOPPING')) {
    const reason = reasonToDelete(job, attempt);
    const message = `VM ${vmName} in ${zone} is deleted: ${reason}`;
    logDecision(logger, { decision: 'VM_DELETED', message, jobId, attempt, vmName, zone, reason, status });
  }
}

function reasonToDelete(job: Job | undefined, attempt: number): string {
  if (job === undefined) {
    return 'JOB_UNKNOWN';
  }
  if (job.status === 'CLOSING' || job.status === 'CLOSED') {
    return 'JOB_ENDED';
  }
  return attempt === job.attempt ? 'NOT_OF_PLACEMENT' : 'ATTEMPT_ENDED';
}

async function reportEndedVm(ports: TeardownPorts, vm: Vm, now: TimestampMs): Promise<void> {
  const cause = causeOf(
    'VM_TERMINATED',
    `VM ${vm.vmName} in ${vm.zone} stopped without an exit report from its agent.`,
  );
  const replica = await ports.replicas.findByInstance(vm.instanceId);
  const loss = { at: now, cause };
  await (replica === undefined ? interruptAttempt(ports, vm, loss) : reportLostReplica(ports, replica, loss));
}
