import type { TrialRef } from '#shared/domain/job.ts';
import type { JobSpec, Program, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Trial, Values } from '#shared/tuning/trial.ts';
import type { TuningCommon } from '#shared/tuning/tuning.ts';

/**
 * The job of a trial: that of the tuning, with the trial's values as arguments after the job's own and a job directory
 * below that of the tuning. Documented for both services: `--name=value` (AI Platform, "Hyperparameter tuning
 * overview"; Vertex AI, "Update your training code"), and the trial's id as the name of the directory.
 */
export function trialSpecOf(
  { spec }: Pick<TuningCommon, 'spec'>,
  trial: Pick<Trial, 'jobId' | 'ordinal' | 'values'>,
): JobSpec {
  const args = argumentsOf(trial.values);
  const withValues = (program: Program): Program => ({ ...program, args: [...program.args, ...args] });
  const withOwnValues = (group: ReplicaGroup): ReplicaGroup =>
    group.program === null ? group : { ...group, program: withValues(group.program) };
  const [master, ...others] = spec.replicaGroups;
  return {
    ...spec,
    jobId: trial.jobId,
    replicaGroups: [withOwnValues(master), ...others.map(withOwnValues)],
    program: withValues(spec.program),
    jobDir: `${spec.jobDir}/${trial.ordinal}`,
    study: null,
  };
}

export function trialRefOf(
  { tuningId, study }: Pick<TuningCommon, 'tuningId' | 'study'>,
  { ordinal }: Pick<Trial, 'ordinal'>,
): TrialRef {
  return { tuningId, ordinal, metricIds: study.metrics.map(({ id }) => id) };
}

/** One argument for each value, whatever it contains. */
function argumentsOf(values: Values): readonly string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${formatValue(value)}`);
}

/**
 * The shortest decimal that reads back as the same number, as Python's `int()` and `float()` parse it: whole numbers
 * without a point and an exponent, others with an exponent if they are very small (`1e-7`).
 */
export function formatValue(value: string | number): string {
  if (typeof value === 'string') {
    return value;
  }
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}
