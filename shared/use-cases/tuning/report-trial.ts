import { priceOfJob } from '#shared/catalog/job-price.ts';
import { MASTER, type TimestampMs } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { listAllTrials } from '#shared/ports/read-trials.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { CurveStore } from '#shared/ports/tuning-store.ts';
import { selectEvenly } from '#shared/tuning/optimizer/trial-data.ts';
import { medianBarOf, usesMedianRule } from '#shared/tuning/stopping/median-rule.ts';
import type { Curve, TrialOutcome } from '#shared/tuning/trial.ts';
import { type EndedTrial, outcomeOf } from '#shared/tuning/trial-outcome.ts';
import type { MedianBar, Tuning } from '#shared/tuning/tuning.ts';
import { handleTuningEvent, type TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';
import { readTrial, type TrialId } from '#shared/use-cases/tuning/trial-job.ts';

export type ReportTrialPorts = TuningEventPorts & {
  readonly jobs: JobStore;
  readonly replicas: ReplicaStore;
  readonly curves: CurveStore;
};

/** Limit on the curves that a bar is computed from: of more completed trials, an even selection. */
const BAR_CURVES_MAX = 500;

/** A bar is computed again when this share of its trials has completed since: one trial of many hardly moves a median. */
const BAR_GROWTH_MIN = 0.02;

/**
 * Reports the end of a trial's job to its tuning: outcome, cost, and the bar with this trial's curve. Without effect if
 * the job is not closed, or the tuning does not wait for the trial any more.
 */
export async function reportTrial(
  ports: ReportTrialPorts,
  { tuningId, ordinal, jobId }: TrialId & { readonly jobId: string },
  now: TimestampMs,
): Promise<void> {
  const job = (await ports.jobs.read(jobId))?.record;
  const found = await readTrial(ports.tunings, { tuningId, ordinal });
  if (job?.status !== 'CLOSED' || !found?.tuning.running.some((trial) => trial.ordinal === ordinal)) {
    return;
  }
  const { tuning, trial } = found;
  const curve = await ports.curves.read(tuningId, ordinal);
  const outcome = await classifyEnd(ports, { job, study: tuning.study, curve });
  const isCompleted = outcome.kind === 'SUCCEEDED' && !outcome.isStoppedEarly;
  await handleTuningEvent(ports, {
    type: 'TRIAL_CLOSED',
    eventId: `closed-${ordinal}`,
    tuningId,
    at: now,
    ordinal,
    values: trial.values,
    chosenAt: trial.chosenAt,
    repeats: trial.repeats,
    outcome,
    startedAt: job.firstRanAt,
    endedAt: job.endedAt,
    costUsd: priceOfJob(job, now).totalUsd,
    bar: isCompleted && curve !== undefined ? await computeBar(ports, tuning, curve) : null,
    completedStep: isCompleted ? (curve?.points.at(-1)?.step ?? null) : null,
  });
}

/** The bar with the curve of a trial that has completed; null if the study has none, or it hardly changes. */
async function computeBar(
  { tunings, curves }: ReportTrialPorts,
  { tuningId, study, counts, bar }: Tuning,
  curve: Curve,
): Promise<MedianBar | null> {
  const completedCount = counts.succeeded - counts.stoppedEarly + 1;
  if (!usesMedianRule(study) || completedCount < (bar?.completedCount ?? 0) * (1 + BAR_GROWTH_MIN)) {
    return null;
  }
  const trials = await listAllTrials(tunings, tuningId);
  const completed = trials.filter(({ outcome }) => outcome?.kind === 'SUCCEEDED' && !outcome.isStoppedEarly);
  const ordinals = selectEvenly(completed, BAR_CURVES_MAX - 1).map(({ ordinal }) => ordinal);
  const next = medianBarOf([...(await curves.readMany(tuningId, ordinals)), curve], study);
  // Not the number of curves, which stops growing at the limit: each further trial would compute the bar again.
  return next && { ...next, completedCount };
}

/** The outcome; of a trial without the study's metric, it names those that the program has reported. */
async function classifyEnd(ports: ReportTrialPorts, ended: Omit<EndedTrial, 'metricNames'>): Promise<TrialOutcome> {
  const outcome = outcomeOf({ ...ended, metricNames: [] });
  if (outcome.kind !== 'INFEASIBLE') {
    return outcome;
  }
  const masters = (await ports.replicas.listByAttempt(ended.job)).filter(({ replica }) => replica === MASTER);
  const names = masters.flatMap(({ progress: { metrics, nonFinite = {} } }) => [
    ...Object.keys(metrics),
    ...Object.keys(nonFinite),
  ]);
  return outcomeOf({ ...ended, metricNames: [...new Set(names)] });
}
