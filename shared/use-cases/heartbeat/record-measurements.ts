import { type Job, MASTER, type PlacedJob, replicaName, type TimestampMs, type TrialRef } from '#shared/domain/job.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import type { CurveStore, TuningStore } from '#shared/ports/tuning-store.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import type { TuningMessage } from '#shared/protocol/stage-message.ts';
import { appendMeasurements } from '#shared/tuning/curve.ts';
import { rungStepsOf, rungsCrossed } from '#shared/tuning/stopping/asha.ts';
import { isBehindBar } from '#shared/tuning/stopping/median-rule.ts';
import type { Curve, Measurement } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

export type MeasurementPorts = EventPorts & {
  readonly tunings: Pick<TuningStore, 'read'>;
  readonly curves: Pick<CurveStore, 'read' | 'write'>;
};

type TrialJob = PlacedJob & { readonly trial: TrialRef };

type Reported = {
  readonly heartbeat: Heartbeat;
  readonly measurements: readonly Measurement[];
  readonly at: TimestampMs;
};

/** Heartbeats of one VM that are handled at once are an unanswered one and those after it. */
const WRITES_MAX = 5;

/** Steps beyond are not counted exactly in a floating-point number. */
const STEP_MAX = Number.MAX_SAFE_INTEGER;

/**
 * Adds what a trial's master reports to the trial's curve, and stops the trial if the study stops early and the trial
 * is behind. Reads no curves of other trials: the tuning has the bar of the median rule, and evaluates ASHA's rungs
 * when a trial has reached one. Nothing happens for other jobs, replicas and heartbeats. Returns the job afterwards.
 *
 * Safe to repeat: the agent repeats measurements until a heartbeat is answered. Rungs are published before the curve is
 * written, after which they would not be found again.
 */
export async function recordMeasurements(
  ports: MeasurementPorts,
  job: PlacedJob,
  { heartbeat, at }: { readonly heartbeat: Heartbeat; readonly at: TimestampMs },
): Promise<Job> {
  const { measurements = [] } = heartbeat;
  if (!isTrial(job) || replicaName(heartbeat) !== MASTER || measurements.length === 0) {
    return job;
  }
  for (let writes = 0; writes < WRITES_MAX; writes += 1) {
    const recorded = await tryRecord(ports, job, { heartbeat, measurements, at });
    if (recorded !== null) {
      return recorded;
    }
  }
  throw new Error(`The curve of trial ${job.jobId} was changed by others ${WRITES_MAX} times while it was written.`);
}

/** Null if another heartbeat has written the curve since it was read: two of one VM may be handled at once. */
async function tryRecord(
  ports: MeasurementPorts,
  job: TrialJob,
  { heartbeat, measurements, at }: Reported,
): Promise<Job | null> {
  const { tuningId, ordinal } = job.trial;
  const before = await ports.curves.read(tuningId, ordinal);
  const after = appendMeasurements(before, {
    tuningId,
    ordinal,
    attempt: job.attempt,
    ranMs: job.ranMs,
    measurements: measurements.flatMap((one) => toMeasurement(one, job, at)),
  });
  const tuning = (await ports.tunings.read(tuningId))?.record;
  // A trial that has ended is one that others are compared with; a trial that was stopped is not.
  if (tuning?.status === 'SEARCHING' && !isStopping(job)) {
    await publishRungs(ports, tuning, { before, after, stepsMax: heartbeat.progress.stepsMax });
  }
  const outcome = after === before ? 'WRITTEN' : await ports.curves.write(after, before);
  if (outcome !== 'WRITTEN') {
    return outcome === 'OUTDATED' ? job : null;
  }
  const isCompared = tuning?.status === 'SEARCHING' && isRunning(tuning, ordinal) && canBeStopped(job, heartbeat);
  return isCompared && isBehind(tuning, after) ? stopEarly(ports, job, at) : job;
}

function isTrial(job: PlacedJob): job is TrialJob {
  return job.trial !== null;
}

function isStopping(job: TrialJob): boolean {
  return job.status === 'RUNNING' && job.stopRequestedAt !== null;
}

/** Only while the program runs: one that has ended has nothing to save by being stopped. */
function canBeStopped(job: TrialJob, { phase }: Heartbeat): boolean {
  return job.status === 'RUNNING' && !isStopping(job) && job.uploadingAt === null && phase === 'RUNNING';
}

function isRunning(tuning: Tuning, ordinal: number): boolean {
  return tuning.running.some((trial) => trial.ordinal === ordinal && !trial.isStopping);
}

/**
 * The part of a report that the tuning can use: programs report other metrics, too, and a VM's numbers are not trusted.
 */
function toMeasurement(
  { step, elapsedMs, values }: Measurement,
  { trial, placedAt }: TrialJob,
  at: TimestampMs,
): readonly Measurement[] {
  const known = Object.entries(values).filter(([name]) => trial.metricIds.includes(name));
  return known.length === 0
    ? []
    : [
        {
          step: Math.min(STEP_MAX, Math.max(0, step)),
          elapsedMs: Math.min(Math.max(0, at - placedAt), elapsedMs),
          values: Object.fromEntries(known),
        },
      ];
}

async function publishRungs(
  { bus }: MeasurementPorts,
  { tuningId, study, longestStep, rungs }: Tuning,
  {
    before,
    after,
    stepsMax,
  }: { readonly before: Curve | undefined; readonly after: Curve; readonly stepsMax: number | null },
): Promise<void> {
  if (study.earlyStopping?.rule !== 'ASHA') {
    return;
  }
  const rungSteps = rungStepsOf(longestStep ?? stepsMax, rungs);
  for (const { step, value } of rungsCrossed(before, after, { study, rungSteps })) {
    const message: TuningMessage = { type: 'REPORT_RUNG', tuningId, ordinal: after.ordinal, step, value };
    await bus.publish('tuning', message, attributesOf(tuningId));
  }
}

function isBehind({ study, bar, longestStep }: Tuning, curve: Curve): boolean {
  const usesBar = study.earlyStopping !== null && study.earlyStopping.rule !== 'ASHA' && bar !== null;
  return usesBar && isBehindBar(curve, bar, { study, longestStep });
}

async function stopEarly(ports: MeasurementPorts, job: TrialJob, at: TimestampMs): Promise<Job> {
  const event = { type: 'STOP_REQUESTED', eventId: `stop-early-${job.attempt}`, jobId: job.jobId, at } as const;
  return (await handleJobEvent(ports, event)) ?? job;
}
