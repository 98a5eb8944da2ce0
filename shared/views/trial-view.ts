import { priceOfJob } from '#shared/catalog/job-price.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { isMultiObjective, objectiveMetricsOf, type Study } from '#shared/domain/study.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import type { Measurement, Trial } from '#shared/tuning/trial.ts';
import { objectivesOf } from '#shared/tuning/trial-outcome.ts';
import type { RunningTrial } from '#shared/tuning/tuning.ts';
import { rfc3339 } from '#shared/views/job-view.ts';

/** The facts that are known of a trial besides its record, while it has not ended. */
export type TrialFacts = {
  readonly study: Study;
  /** Undefined if the tuning does not wait for the trial. */
  readonly running?: RunningTrial | undefined;
  /** Undefined if it has no job yet. */
  readonly job?: Job | undefined;
  /** The last measurement; undefined if the program has reported none. */
  readonly last?: Measurement | undefined;
  readonly now: TimestampMs;
};

/** A trial as users see it in reports and the API. */
export function viewTrial(trial: Trial, facts: TrialFacts): TrialView {
  const { outcome } = trial;
  const measured = outcome === null ? facts.last : outcome.kind === 'SUCCEEDED' ? outcome.final : undefined;
  const values = objectiveValuesOf(trial, measured, facts.study);
  const startedAt = trial.startedAt ?? facts.job?.firstRanAt ?? null;
  return {
    trialId: String(trial.ordinal),
    jobId: trial.jobId,
    state: stateOfTrial(trial, facts),
    parameters: trial.values,
    objective: values[0] ?? null,
    objectives: isMultiObjective(facts.study) ? namedOf(values, facts.study) : {},
    step: measured?.step ?? null,
    isTrialStoppedEarly: outcome?.kind === 'SUCCEEDED' && outcome.isStoppedEarly,
    startTime: startedAt === null ? null : rfc3339(startedAt),
    endTime: trial.endedAt === null ? null : rfc3339(trial.endedAt),
    costUsd: outcome === null && facts.job ? priceOfJob(facts.job, facts.now).totalUsd : trial.costUsd,
    reason: reasonOf(trial),
    repeats: trial.repeats === null ? null : String(trial.repeats),
  };
}

function namedOf(values: readonly (number | null)[], study: Study): TrialView['objectives'] {
  return Object.fromEntries(objectiveMetricsOf(study).map(({ id }, index) => [id, values[index] ?? null]));
}

function objectiveValuesOf({ outcome }: Trial, measured: Measurement | undefined, study: Study) {
  if (outcome?.kind === 'SUCCEEDED') {
    return [outcome.objective, ...outcome.furtherObjectives];
  }
  return measured === undefined
    ? objectiveMetricsOf(study).map(() => null)
    : objectivesOf(measured, { curve: undefined, study });
}

function stateOfTrial({ outcome }: Trial, { running, job }: TrialFacts): TrialView['state'] {
  if (outcome !== null) {
    return outcome.kind;
  }
  if (running?.isStopping) {
    return 'STOPPING';
  }
  return job === undefined || job.firstRanAt === null ? 'REQUESTED' : 'ACTIVE';
}

function reasonOf({ outcome }: Trial): string | null {
  if (outcome === null || outcome.kind === 'SUCCEEDED') {
    return null;
  }
  return outcome.kind === 'INFEASIBLE' ? outcome.message : outcome.cause.message;
}
