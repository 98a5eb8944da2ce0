import { causeOf } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { handleTuningEvent, type TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';

export type UndeliveredTrial = { readonly tuningId: string; readonly ordinal: number; readonly problem: string };

/**
 * A message about a trial is among the dead letters. Its tuning would wait indefinitely for a trial whose job cannot be
 * created, or whose end cannot be reported: it counts as lost. The end of a job that exists and has not closed is still
 * to be reported, so nothing happens.
 */
export async function reportUndelivered(
  ports: TuningEventPorts & { readonly jobs: JobStore },
  { tuningId, ordinal, problem }: UndeliveredTrial,
  now: TimestampMs,
): Promise<void> {
  const trial = await ports.tunings.readTrial(tuningId, ordinal);
  if (trial === undefined) {
    return;
  }
  const { jobId, values, chosenAt, repeats } = trial;
  const job = (await ports.jobs.read(jobId))?.job;
  if (job !== undefined && job.status !== 'CLOSED') {
    return;
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
    outcome: { kind: 'LOST', cause: causeOf('INTERNAL_ERROR', message, [problem]) },
    startedAt: job?.firstRanAt ?? null,
    endedAt: now,
    costUsd: null,
    bar: null,
    completedStep: null,
    metricNames: [],
  });
}
