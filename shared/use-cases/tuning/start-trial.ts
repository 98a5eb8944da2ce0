import { jobUpdateOf, provisionOf } from '#shared/domain/effect.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import { createRecord, publishOutbox } from '#shared/machine/machine.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { type ReportTrialPorts, reportTrial } from '#shared/use-cases/tuning/report-trial.ts';
import { stopTrial } from '#shared/use-cases/tuning/stop-trial.ts';
import { readTrial, type TrialId, trialJobOf } from '#shared/use-cases/tuning/trial-job.ts';

/**
 * Creates the job of a trial if there is none; the repeated request is also how a tuning checks on a trial, so the end
 * of a closed job is reported again. A trial that the tuning does not wait for any more is cancelled.
 */
export async function startTrial(ports: ReportTrialPorts, id: TrialId, now: TimestampMs): Promise<void> {
  const found = await readTrial(ports.tunings, id);
  if (found === undefined) {
    return;
  }
  const { tuning, trial } = found;
  if (!awaits(tuning, id)) {
    await stopTrial(ports, { ...id, how: 'CANCEL' }, now);
    return;
  }
  const existing = (await ports.jobs.read(trial.jobId))?.record;
  if (existing?.status === 'CLOSED') {
    await reportTrial(ports, { ...id, jobId: trial.jobId }, now);
    return;
  }
  if (existing === undefined) {
    const job = trialJobOf(tuning, trial, { now, timeouts: ports.timeouts });
    // If it exists by now, another delivery of this message or a request to stop the trial was faster.
    await createRecord(jobMachine(ports), job, [provisionOf(job), jobUpdateOf(job)]);
    // The tuning may have counted the trial as lost since it was read, and would never end a job that it does not know.
    if (!(await isAwaited(ports, id))) {
      await stopTrial(ports, { ...id, how: 'CANCEL' }, now);
      return;
    }
  }
  await publishOutbox(jobMachine(ports), trial.jobId);
}

async function isAwaited({ tunings }: ReportTrialPorts, id: TrialId): Promise<boolean> {
  const tuning = (await tunings.read(id.tuningId))?.record;
  return tuning !== undefined && awaits(tuning, id);
}

function awaits({ status, running }: Tuning, { ordinal }: TrialId): boolean {
  return status === 'SEARCHING' && running.some((trial) => trial.ordinal === ordinal);
}
