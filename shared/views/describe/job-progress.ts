import type { JobView } from '#shared/protocol/job-view.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';
import { masterOf, progressOf } from '#shared/views/describe/progress.ts';

/** How far a job is. */
export type Progress = {
  readonly fraction: number;
  readonly text: string;
  /** Milliseconds until the end, at the speed so far; null if unknown. */
  readonly leftMs: number | null;
};

/** By its trials or its steps; null without them. */
export function describeProgress(job: JobView, now: number): Progress | null {
  if (job.tuning !== null) {
    const { endedTrialCount, trialsMax, forecast } = job.tuning;
    const endTime = forecast?.endTime ?? null;
    return {
      fraction: Math.min(1, endedTrialCount / trialsMax),
      text: `${endedTrialCount} of ${trialsMax} trials`,
      leftMs: isEnded(job) || endTime === null ? null : Date.parse(endTime) - now,
    };
  }
  const progress = progressOf(job, now);
  if (progress === null) {
    return null;
  }
  const { step, stepsMax, etaMs } = progress;
  if (stepsMax === null || stepsMax <= 0) {
    return { fraction: 0, text: `step ${step.toLocaleString('en-US')}`, leftMs: null };
  }
  const fraction = Math.min(1, step / stepsMax);
  return {
    fraction,
    text: `${step.toLocaleString('en-US')} / ${stepsMax.toLocaleString('en-US')}`,
    leftMs: etaMs,
  };
}

/** The metric that users look at first, with its last value: that of the tuning, then a loss, then any. */
export function mainMetricOf(job: JobView): { readonly name: string; readonly value: number | string } | null {
  if (job.tuning !== null) {
    const { optimal } = job.tuning;
    if (optimal !== null) {
      return optimal.count === 0 ? null : { name: 'optimal trials', value: optimal.count };
    }
    const objective = job.tuning.best?.objective ?? null;
    return objective === null ? null : { name: `best ${job.tuning.metricId}`, value: objective };
  }
  const metrics = Object.entries(masterOf(job)?.metrics ?? {});
  const ranked = PREFERRED.map((pattern) => metrics.find(([name]) => pattern.test(name)));
  const [name, value] = ranked.find((found) => found !== undefined) ?? metrics[0] ?? [];
  return name === undefined || value === undefined ? null : { name, value };
}

const PREFERRED = [/^(val|eval|validation)[_/-]?loss$/i, /^loss$/i, /loss/i, /acc/i];
