import type { TimestampMs } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { createRecord, publishOutbox } from '#shared/machine/machine.ts';
import { handleJobEvent, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { cancelEventOf } from '#shared/use-cases/intake/cancel-job.ts';
import { type ReportTrialPorts, reportTrial } from '#shared/use-cases/tuning/report-trial.ts';
import { readTrial, type TrialId, trialJobOf } from '#shared/use-cases/tuning/trial-job.ts';

/** STOP: the program ends, and what it has reported counts. CANCEL: the job is cancelled. */
export type StopRequest = TrialId & { readonly how: 'STOP' | 'CANCEL' };

/**
 * Stops or cancels the job of a trial; the end of a closed job is reported again. A trial without a job gets one that
 * is cancelled from its creation: a request to start the trial that is still under way then finds the id taken.
 */
export async function stopTrial(ports: ReportTrialPorts, { how, ...id }: StopRequest, now: TimestampMs): Promise<void> {
  const found = await readTrial(ports.tunings, id);
  if (found === undefined) {
    return;
  }
  const { jobId } = found.trial;
  const cancel = { ...cancelEventOf(jobId, now), by: 'TUNING' };
  const event = how === 'CANCEL' ? cancel : { ...cancel, type: 'STOP_REQUESTED' as const, eventId: 'stop-requested' };
  const job = await handleJobEvent(ports, event);
  if (job?.status === 'CLOSED') {
    await reportTrial(ports, { ...id, jobId }, now);
  } else if (job === undefined) {
    const unstarted = trialJobOf(found.tuning, found.trial, { now, timeouts: ports.timeouts });
    const cancelled = transition(unstarted, cancel, ports.timeouts);
    if ((await createRecord(jobMachine(ports), cancelled.job, cancelled.effects)) === 'EXISTS') {
      await handleJobEvent(ports, event);
    }
    await publishOutbox(jobMachine(ports), jobId);
  }
}
