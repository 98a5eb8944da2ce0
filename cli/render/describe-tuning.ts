import type { JobView } from '#shared/protocol/job-view.ts';
import type { TuningView } from '#shared/protocol/tuning-view.ts';
import { formatParameters, formatValue } from '#shared/text/format-number.ts';
import { describeOptimal, describeStop, describeTrialCounts } from '#shared/views/describe/describe-tuning.ts';

/** The job of a tuning. */
export type TuningJob = JobView & { readonly tuning: TuningView };

export function isTuningJob(job: JobView): job is TuningJob {
  return job.tuning !== null;
}

/** The result of a tuning in one line: `12 of 40 trials, best trial 7: accuracy 0.9833 with learning_rate=0.03`. */
export function describeResult(tuning: TuningView): string {
  const { best, metricId } = tuning;
  const stop = describeStop(tuning);
  const optimal = tuning.optimal?.count ? describeOptimal(tuning) : null;
  const parts = [
    describeTrialCounts(tuning),
    ...(stop === null ? [] : [`ended early because ${stop}`]),
    optimal !== null
      ? `optimal: ${optimal}`
      : best === null || best.objective === null
        ? 'no trial has a result'
        : `best trial ${best.trialId}: ${metricId} ${formatValue(best.objective)} with ${formatParameters(best.parameters)}`,
  ];
  return parts.join('; ');
}
