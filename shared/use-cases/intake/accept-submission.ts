import { priceOf } from '#shared/catalog/price.ts';
import { jobUpdateOf, provisionOf } from '#shared/domain/effect.ts';
import type { JobSource, PackageRef, TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { Study } from '#shared/domain/study.ts';
import { createRecord, publishOutbox } from '#shared/machine/machine.ts';
import { readSubmitted, updateOf } from '#shared/ports/read-submitted.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { newTuning } from '#shared/tuning/new-tuning.ts';
import { type EventPorts, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { type TuningEventPorts, tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { enforceSizeLimit, newJob } from '#shared/use-cases/intake/new-job.ts';

export type AcceptPorts = EventPorts & TuningEventPorts;

/** A submission that passed all checks. */
export type Accepted = {
  readonly spec: JobSpec;
  readonly source: JobSource;
  readonly zones: readonly string[];
  readonly packages: readonly PackageRef[];
  readonly warnings: readonly Problem[];
  readonly now: TimestampMs;
};

/** The study of a tuning, and the earlier tunings that it resumes. */
export type AcceptedStudy = { readonly study: Study; readonly resumes: readonly string[] };

/**
 * Creates the job of a submission with its outbox entries, or finds the one that an earlier delivery has created.
 * Returns the problem if it is too large, or if another submission has its id.
 */
export async function acceptJob(ports: AcceptPorts, accepted: Accepted): Promise<Problem | 'ACCEPTED'> {
  const checked = jobOf(ports, accepted);
  if ('problem' in checked) {
    return checked.problem;
  }
  const { limited: job } = checked;
  const taken = await findOther(ports, job);
  if (taken !== null) {
    return taken;
  }
  if ((await createRecord(jobMachine(ports), job, [provisionOf(job), jobUpdateOf(job)])) === 'EXISTS') {
    const other = await findOther(ports, job);
    if (other !== null) {
      return other;
    }
  }
  await publishOutbox(jobMachine(ports), job.jobId);
  return 'ACCEPTED';
}

/** Does the same as `acceptJob` for the tuning of a submission with a study. */
export async function acceptTuning(
  ports: AcceptPorts,
  accepted: Accepted,
  study: AcceptedStudy,
): Promise<Problem | 'ACCEPTED'> {
  const { effects, ...checked } = tuningOf(ports, accepted, study);
  if ('problem' in checked) {
    return checked.problem;
  }
  const { limited: tuning } = checked;
  const submitted = { jobId: tuning.tuningId, source: tuning.source };
  const taken = await findOther(ports, submitted);
  if (taken !== null) {
    return taken;
  }
  if ((await createRecord(tuningMachine(ports), tuning, effects)) === 'EXISTS') {
    const other = await findOther(ports, submitted);
    if (other !== null) {
      return other;
    }
  }
  await publishOutbox(tuningMachine(ports), tuning.tuningId);
  return 'ACCEPTED';
}

/** The problem with which a submission would not be accepted as a new one, or null. Creates nothing. */
export async function findAcceptProblem(
  ports: AcceptPorts,
  accepted: Accepted,
  study: AcceptedStudy | null,
): Promise<Problem | null> {
  const checked = study === null ? jobOf(ports, accepted) : tuningOf(ports, accepted, study);
  const { source, spec } = accepted;
  return 'problem' in checked ? checked.problem : findOther(ports, { jobId: spec.jobId, source });
}

function jobOf({ timeouts }: AcceptPorts, { spec, ...accepted }: Accepted) {
  return enforceSizeLimit(newJob(spec, { ...accepted, timeouts }));
}

function tuningOf({ timeouts }: AcceptPorts, { spec, ...accepted }: Accepted, { study, resumes }: AcceptedStudy) {
  const { perHourUsd } = priceOf(spec.replicaGroups, spec.provisioningModel);
  const { tuning, effects } = newTuning({ ...accepted, spec, study, resumes, perHourUsd, timeouts });
  return { ...enforceSizeLimit(tuning), effects };
}

/** The problem that another submission has the id; null if none has, or an earlier delivery of this one. */
async function findOther(
  ports: AcceptPorts,
  { jobId, source }: { readonly jobId: string; readonly source: JobSource },
): Promise<Problem | null> {
  const existing = await readSubmitted(ports, jobId);
  return existing === undefined || isSameSubmission(existing.source, source)
    ? null
    : {
        code: 'JOB_ID_TAKEN',
        message: `A job ${jobId} already exists (${updateOf(existing).state}, from ${existing.source.uri}) and was not changed.`,
        remedy: 'Set another jobId and upload the file again.',
        path: 'jobId',
      };
}

/** The submission of another user is a different one, even if it is equal: its job is not this user's. */
function isSameSubmission(one: JobSource, other: JobSource): boolean {
  const users = new Set([one.submittedBy, other.submittedBy].filter((user) => user !== null));
  if (users.size > 1) {
    return false;
  }
  return one.digest === other.digest || (one.uri === other.uri && one.deliveryId === other.deliveryId);
}
