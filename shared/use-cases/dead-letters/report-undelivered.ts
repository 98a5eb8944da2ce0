import { priceOfJob } from '#shared/catalog/job-price.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import { handleTuningEvent } from '#shared/use-cases/handle-tuning-event.ts';
import { type ReportTrialPorts, reportTrial } from '#shared/use-cases/tuning/report-trial.ts';

export type UndeliveredTrial = { readonly tuningId: string; readonly ordinal: number; readonly problem: string };

/**
 * A message about a trial is among the dead letters. The end of a closed job is reported once more: an outage that
 * outlasted the deliveries is no reason to train again. A trial whose job cannot be created, or whose end cannot be
 * reported, counts as lost: its tuning would wait for it indefinitely. The end of a job that exists and has not closed
 * is still to be reported, so nothing happens.
 */
export async function reportUndelivered(
  ports: ReportTrialPorts,
  { tuningId, ordinal, problem }: UndeliveredTrial,
  now: TimestampMs,
): Promise<void> {
  const trial = await ports.tunings.readTrial(tuningId, ordinal);
  if (trial === undefined) {
    return;
  }
  const { jobId, values, chosenAt, repeats } = trial;
  const job = (await ports.jobs.read(jobId))?.record;
  if (job !== undefined && job.status !== 'CLOSED') {
    return;
  }
  const evidence = [problem];
  if (job !== undefined) {
    try {
      return await reportTrial(ports, { tuningId, ordinal, jobId }, now);
    } catch (error) {
      evidence.push(error instanceof Error ? error.message : String(error));
    }
  }
  const what = job === undefined ? 'started' : 'evaluated';
  const message = `Trial ${ordinal} of tuning ${tuningId} could not be ${what}.`;
  await handleTuningEvent(ports, {
    type: 'TRIAL_CLOSED',
    eventId: `closed-${ordinal}`,
    tuningId,
    at: now,
    ordinal,
    values,
    chosenAt,
    repeats,
    outcome: { kind: 'LOST', cause: causeOf('INTERNAL_ERROR', message, evidence) },
    startedAt: job?.firstRanAt ?? null,
    endedAt: now,
    costUsd: job === undefined ? null : priceOfJob(job, now).totalUsd,
    bar: null,
    completedStep: null,
  });
}
