import { causeOf } from '#shared/domain/cause.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { ownsVm } from '#shared/domain/ownership.ts';
import { IncompleteListError, type Vm, type VmRemoval } from '#shared/ports/vm-provider.ts';
import { attemptAll } from '#shared/use-cases/attempt-all.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import type { HeartbeatPorts } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { reportLostReplica } from '#shared/use-cases/reconcile/report-lost-replica.ts';

export type TeardownPorts = HeartbeatPorts & { readonly vms: VmRemoval };

/**
 * The teardown stage: deletes every VM of the job that its current attempt does not own. A job that is closing is over
 * when Compute Engine lists none of its VMs any more; until then its `wakeAt` has this asked for again. Where the list is
 * not complete, what is seen is deleted, and then it throws.
 */
export async function teardown(ports: TeardownPorts, jobId: string, now: TimestampMs): Promise<void> {
  const job = (await ports.jobs.read(jobId))?.job;
  const { seen, fault } = await look(ports, { jobId });
  const deletions = await Promise.all(leftoversOf(job, seen).map((vm) => ports.vms.delete(vm)));
  if (fault !== null) {
    throw fault;
  }
  if (job === undefined || job.status === 'CLOSED') {
    return;
  }
  const isClosing = job.status === 'CLOSING';
  await ports.replicas.clearLeases(jobId, isClosing ? job.attempt : job.attempt - 1);
  const isGone = deletions.every((outcome) => outcome === 'GONE');
  if (isClosing && isGone && (await ports.vms.list({ jobId })).length === 0) {
    await handleJobEvent(ports, { type: 'VMS_GONE', eventId: `vms-gone-${job.attempt}`, jobId, at: now });
  }
}

/**
 * The sweeper: compares the cloud's own list of VMs with the jobs. Deletes what no job owns, such as a VM that came to
 * life after its creation had been given up, and reports a VM that has ended without a word. Throws after the work is
 * done for what it could see, where that was not all.
 */
export async function sweep(ports: TeardownPorts, now: TimestampMs): Promise<void> {
  const { seen, fault } = await look(ports);
  await attemptAll(
    Map.groupBy(seen, (vm) => vm.jobId),
    ([jobId, ofJob]) => sweepJob(ports, { jobId, ofJob, now }),
  );
  if (fault !== null) {
    throw fault;
  }
}

/** The VMs that the cloud can see at the moment, and what it says when there may be others. */
async function look(
  { vms }: TeardownPorts,
  query?: { readonly jobId: string },
): Promise<{ readonly seen: readonly Vm[]; readonly fault: IncompleteListError | null }> {
  try {
    return { seen: await vms.list(query), fault: null };
  } catch (error) {
    if (error instanceof IncompleteListError) {
      return { seen: error.seen, fault: error };
    }
    throw error;
  }
}

async function sweepJob(
  ports: TeardownPorts,
  { jobId, ofJob, now }: { readonly jobId: string; readonly ofJob: readonly Vm[]; readonly now: TimestampMs },
): Promise<void> {
  const job = (await ports.jobs.read(jobId))?.job;
  // None is waited for: of a hundred orphans, each takes a minute or two to go, and all are to be on their way by then.
  await attemptAll(leftoversOf(job, ofJob), (vm) => ports.vms.delete(vm, { isWaitedFor: false }));
  const ended = ofJob.filter((vm) => vm.status === 'TERMINATED' && job !== undefined && ownsVm(job, vm));
  await attemptAll(ended, (vm) => reportEndedVm(ports, vm, now));
}

function leftoversOf(job: Job | undefined, vms: readonly Vm[]): readonly Vm[] {
  return vms.filter((vm) => job === undefined || !ownsVm(job, vm));
}

async function reportEndedVm(ports: TeardownPorts, vm: Vm, now: TimestampMs): Promise<void> {
  const cause = causeOf('VM_TERMINATED', `VM ${vm.vmName} in ${vm.zone} has ended without a word from its agent.`);
  const replica = await ports.replicas.findByInstance(vm.instanceId);
  if (replica !== undefined) {
    await reportLostReplica(ports, replica, { at: now, cause });
    return;
  }
  const { jobId, attempt, instanceId } = vm;
  await handleJobEvent(ports, {
    type: 'ATTEMPT_INTERRUPTED',
    eventId: `lost-${attempt}-${instanceId}`,
    jobId,
    at: now,
    attempt,
    cause,
  });
}
