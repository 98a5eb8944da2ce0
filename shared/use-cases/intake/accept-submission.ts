import { priceOf } from '#shared/catalog/price.ts';
import { jobUpdateOf, provisionOf } from '#shared/domain/effect.ts';
import { suggestFreeJobId } from '#shared/domain/free-job-id.ts';
import type { JobSource } from '#shared/domain/job.ts';
import { createRecord, type Machine, publishOutbox } from '#shared/machine/machine.ts';
import type { MachineRecord } from '#shared/machine/record-store.ts';
import { readSubmitted, updateOf } from '#shared/ports/read-submitted.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { type NewTuning, newTuning } from '#shared/tuning/new-tuning.ts';
import { type EventPorts, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { type TuningEventPorts, tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { enforceSizeLimit, type Limited, newJob } from '#shared/use-cases/intake/new-job.ts';

export type AcceptPorts = EventPorts & TuningEventPorts;

/** A submission that passed all checks. */
export type Accepted = Omit<NewTuning, 'study' | 'perHourUsd' | 'timeouts'>;

/**
 * Creates the job of a submission, or its tuning if it has a study, with the outbox entries, or finds the one that an
 * earlier delivery has created. Returns the problem if it is too large, or if another submission has its id; null if
 * it was accepted.
 */
export async function acceptSubmission(ports: AcceptPorts, accepted: Accepted): Promise<Problem | null> {
  const record = recordOf(ports, accepted);
  if ('problem' in record) {
    return record.problem;
  }
  const taken = await findOther(ports, accepted);
  if (taken !== null) {
    return taken;
  }
  const other = (await record.create()) === 'EXISTS' ? await findOther(ports, accepted) : null;
  if (other === null) {
    await record.publish();
  }
  return other;
}

/** The problem with which a submission would not be accepted as a new one, or null. Creates nothing. */
export async function findAcceptProblem(ports: AcceptPorts, accepted: Accepted): Promise<Problem | null> {
  const record = recordOf(ports, accepted);
  return 'problem' in record ? record.problem : findOther(ports, accepted);
}

/** The record of a submission, which is not created yet; the problem if it is too large. */
function recordOf(ports: AcceptPorts, { spec, resumes, ...accepted }: Accepted) {
  const { timeouts } = ports;
  const { jobId, study } = spec;
  if (study === null) {
    const job = newJob(spec, { ...accepted, timeouts });
    return limitedRecordIn(jobMachine(ports), jobId, { record: job, effects: [provisionOf(job), jobUpdateOf(job)] });
  }
  const { perHourUsd } = priceOf(spec.replicaGroups, spec.provisioningModel);
  const { tuning, effects } = newTuning({ ...accepted, spec, study, resumes, perHourUsd, timeouts });
  return limitedRecordIn(tuningMachine(ports), jobId, { record: tuning, effects });
}

function limitedRecordIn<Item extends MachineRecord & Limited, Effect>(
  machine: Pick<Machine<Item, never, Effect>, 'records' | 'onCommitted' | 'publish'>,
  id: string,
  { record, effects }: { readonly record: Item; readonly effects: readonly Effect[] },
) {
  const checked = enforceSizeLimit(record);
  return 'problem' in checked
    ? checked
    : { create: () => createRecord(machine, checked.limited, effects), publish: () => publishOutbox(machine, id) };
}

/** The problem that another submission has the id; null if none has, or an earlier delivery of this one. */
async function findOther(ports: AcceptPorts, { spec, source }: Accepted): Promise<Problem | null> {
  const { jobId } = spec;
  const existing = await readSubmitted(ports, jobId);
  if (existing === undefined || isSameSubmission(existing.source, source)) {
    return null;
  }
  const free = await suggestFreeJobId(jobId, async (id) => (await readSubmitted(ports, id)) !== undefined);
  const message = `A job ${jobId} already exists (${updateOf(existing).state}, from ${existing.source.uri}) and was not changed.`;
  return { code: 'JOB_ID_TAKEN', message, remedy: `Set another jobId${free}, and submit it again.`, path: 'jobId' };
}

/** The submission of another user is a different one, even if it is equal: its job is not this user's. */
function isSameSubmission(one: JobSource, other: JobSource): boolean {
  const users = new Set([one.submittedBy, other.submittedBy].filter((user) => user !== null));
  if (users.size > 1) {
    return false;
  }
  return one.digest === other.digest || (one.uri === other.uri && one.deliveryId === other.deliveryId);
}
