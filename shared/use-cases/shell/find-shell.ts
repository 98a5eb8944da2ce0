import { isKeeping, isPlaced, type Job, MASTER, replicaName, replicasOf } from '#shared/domain/job.ts';
import { findReplica, listReplicaNames } from '#shared/domain/replica-name.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { shellTargetSchema } from '#shared/protocol/answers.ts';

type ShellTarget = Stated<typeof shellTargetSchema>;

export type ShellSearch =
  | { readonly outcome: 'FOUND'; readonly target: ShellTarget }
  | { readonly outcome: 'NONE'; readonly message: string; readonly remedy: string };

/** The VM of a replica of the job: by default the master's, or the one that is kept. */
export function findShell(job: Job, replica: string | undefined): ShellSearch {
  if (isKeeping(job)) {
    const { kept } = job;
    return replica === undefined || replica === kept.replica
      ? found(job, { replica: kept.replica, vmName: kept.vmName, zone: kept.placement.zone, isKept: true })
      : none(
          `Job ${job.jobId} has failed, and only the VM of ${kept.replica} is kept.`,
          `Leave out --replica, or write --replica=${kept.replica}.`,
        );
  }
  if (!isPlaced(job) || job.instances.length === 0) {
    return notRunning(job);
  }
  const { replicaGroups } = job.spec;
  const name = findReplica(replicaGroups, replica ?? MASTER);
  const id = replicasOf(job.spec).find((each) => replicaName(each) === name);
  if (name === undefined || id === undefined) {
    return none(`Job ${job.jobId} has no replica ${replica}.`, `Choose one of ${listReplicaNames(replicaGroups)}.`);
  }
  const vmName = vmNameOf(job.jobId, job.attempt, id);
  return found(job, { replica: name, vmName, zone: job.placement.zone, isKept: false });
}

function found({ jobId }: Job, target: Omit<ShellTarget, 'jobId'>): ShellSearch {
  return { outcome: 'FOUND', target: { jobId, ...target } };
}

function none(message: string, remedy: string): ShellSearch {
  return { outcome: 'NONE', message, remedy };
}

function notRunning(job: Job): ShellSearch {
  const hasEnded = job.status === 'CLOSING' || job.status === 'CLOSED';
  return hasEnded
    ? none(
        `Job ${job.jobId} has ended, and its VMs are deleted.`,
        'To keep the VM of a program that fails, submit it with keepOnFailure: 30m in its job file.',
      )
    : none(`Job ${job.jobId} has no VM yet: it waits for its machines.`, 'Try again when it is RUNNING.');
}
