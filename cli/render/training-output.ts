import type { TuningJob } from '#cli/render/describe-tuning.ts';
import { sortBestFirst } from '#cli/render/sort-trials.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';

/** AI Platform's states of a trial (HyperparameterOutput.state). */
const STATES = {
  REQUESTED: 'QUEUED',
  ACTIVE: 'RUNNING',
  STOPPING: 'RUNNING',
  SUCCEEDED: 'SUCCEEDED',
  INFEASIBLE: 'FAILED',
  FAILED: 'FAILED',
  LOST: 'FAILED',
} as const satisfies Record<TrialView['state'], string>;

/**
 * The tuning as AI Platform's TrainingOutput (`ml.googleapis.com` v1), with the best trial first. As in the API's JSON,
 * int64 and all values of hyperparameters are texts.
 */
export function toTrainingOutput({ tuning }: TuningJob, trials: readonly TrialView[]): Record<string, unknown> {
  return {
    completedTrialCount: String(trials.filter(({ state }) => state === 'SUCCEEDED').length),
    isHyperparameterTuningJob: true,
    hyperparameterMetricTag: tuning.metricId,
    trials: sortBestFirst(trials, tuning).map(toOutput),
  };
}

function toOutput(trial: TrialView): Record<string, unknown> {
  const { trialId, parameters, objective, step, isTrialStoppedEarly, startTime, endTime } = trial;
  return {
    trialId,
    hyperparameters: Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)])),
    ...(objective !== null && {
      finalMetric: { ...(step !== null && { trainingStep: String(step) }), objectiveValue: objective },
    }),
    ...(isTrialStoppedEarly && { isTrialStoppedEarly }),
    state: STATES[trial.state],
    ...(startTime !== null && { startTime }),
    ...(endTime !== null && { endTime }),
  };
}
