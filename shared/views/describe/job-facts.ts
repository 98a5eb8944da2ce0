import type { JobView } from '#shared/protocol/job-view.ts';
import type { TuningView } from '#shared/protocol/tuning-view.ts';
import { formatImages } from '#shared/text/describe-images.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatDuration, formatMoment, formatSpan } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { describeCommit } from '#shared/views/describe/describe-commit.ts';
import { describeKept } from '#shared/views/describe/describe-kept.ts';
import { describeGroup } from '#shared/views/describe/describe-machines.ts';
import {
  describeBest,
  describeForecast,
  describeOptimal,
  describeRecommended,
  describeSearch,
  describeStop,
  describeTrialCounts,
} from '#shared/views/describe/describe-tuning.ts';

/** A row of what is said about a job. The cell is null, or empty, for a job to which it does not apply. */
type JobFact = { readonly header: string; readonly cell: (job: JobView, nowMs: number) => string | null };

const ofTuning = (describe: (tuning: TuningView) => string | null) => (job: JobView) =>
  job.tuning && describe(job.tuning);

/** The facts about a job or tuning. Each renderer chooses its rows, and adds what is its own, such as links. */
export const JOB_FACTS = {
  trial: { header: 'Trial', cell: ({ trial }) => trial && `${trial.trialId} of tuning ${trial.tuningId}` },
  created: { header: 'Created', cell: ({ createTime }, nowMs) => formatMoment(createTime, nowMs) },
  started: { header: 'Started', cell: ({ startTime }, nowMs) => startTime && formatMoment(startTime, nowMs) },
  ended: { header: 'Ended', cell: ({ endTime }, nowMs) => endTime && formatMoment(endTime, nowMs) },
  duration: { header: 'Duration', cell: describeDuration },
  waitingFor: {
    header: 'Waiting for',
    cell: ({ waitingFor }) => waitingFor && `${waitingFor.code}: ${waitingFor.message}`,
  },
  search: { header: 'Tuning', cell: ofTuning(describeSearch) },
  progress: { header: 'Progress', cell: ofTuning(describeTrialCounts) },
  best: { header: 'Best', cell: ofTuning(describeBest) },
  optimal: { header: 'Optimal', cell: ofTuning(describeOptimal) },
  recommended: { header: 'Recommended', cell: ofTuning(describeRecommended) },
  metrics: { header: 'Metrics', cell: (job) => formatMetrics(masterMetricsOf(job)) },
  cause: { header: 'Cause', cell: ({ cause }) => cause && (cause.label ?? cause.code) },
  cost: { header: 'Cost', cell: describeCost },
  forecast: { header: 'Forecast', cell: ofTuning(describeForecast) },
  stopped: { header: 'Stopped', cell: ofTuning(describeStop) },
  resumes: { header: 'Resumes', cell: ofTuning(({ resumes }) => resumes.join(', ')) },
  machines: { header: 'Machines', cell: describeMachines },
  image: { header: 'Image', cell: ({ images }) => formatImages(images) },
  placement: { header: 'Placement', cell: describePlacement },
  attempt: { header: 'Attempt', cell: ({ attempt, tuning }) => (tuning === null ? String(attempt) : null) },
  output: { header: 'Output', cell: ({ jobDir, tuning }) => (tuning === null ? jobDir : `${jobDir}/TRIAL`) },
  submittedBy: { header: 'Submitted by', cell: ({ submittedBy }) => submittedBy },
  commit: { header: 'Commit', cell: ({ git }) => git && describeCommit(git) },
  source: { header: 'Source', cell: ({ source }) => source },
  report: { header: 'Report', cell: ({ report }) => report },
  labels: { header: 'Labels', cell: describeLabels },
  kept: { header: 'Kept', cell: describeKept },
} as const satisfies Readonly<Record<string, JobFact>>;

export type JobFactName = keyof typeof JOB_FACTS;

/** The chosen rows that apply to the job. */
export function listJobFacts(job: JobView, names: readonly JobFactName[], nowMs: number) {
  return names.flatMap((name) => {
    const { header, cell } = JOB_FACTS[name];
    const text = cell(job, nowMs);
    return text === null || text === '' ? [] : [{ name, header, text }];
  });
}

/** From the first start of the program, or else from the submission. */
function describeDuration({ startTime, createTime, endTime }: JobView, nowMs: number): string {
  return formatSpan({ startTime: startTime ?? createTime, endTime }, nowMs);
}

/** `loss 0.1203, accuracy 0.9611`. */
export function formatMetrics(metrics: Readonly<Record<string, number | string>>): string {
  return Object.entries(metrics)
    .map(([name, value]) => `${name} ${formatValue(value)}`)
    .join(', ');
}

const METRICS_SHOWN_MAX = 5;

/** The last values of the first metrics that the master reported. */
export function masterMetricsOf({ replicas }: JobView): Readonly<Record<string, number | string>> {
  const { metrics = {} } = replicas.find(({ replica }) => replica === 'master-0') ?? {};
  return Object.fromEntries(Object.entries(metrics).slice(0, METRICS_SHOWN_MAX));
}

/** At list prices, with the time that is billed; for a tuning, with its limit and the price of a trial. */
function describeCost({ price, tuning, endTime }: JobView): string {
  const { totalUsd, perHourUsd, billedSeconds, asOf } = price;
  const billed = `${formatDuration(billedSeconds * 1_000)} of VM time`;
  if (totalUsd === null || perHourUsd === null) {
    return `unknown for these machines${tuning === null ? ` (${billed})` : ''}`;
  }
  const total = `${formatUsd(totalUsd)}${endTime === null ? ' so far' : ''} on Google Cloud`;
  const limit = tuning === null || tuning.maxCostUsd === null ? '' : `, limit ${formatUsd(tuning.maxCostUsd)}`;
  const rate =
    tuning === null
      ? `: ${billed} at ${formatUsd(perHourUsd)} per hour`
      : `; an hour of a trial is ${formatUsd(perHourUsd)}`;
  return `${total}${limit}${rate} (list prices as of ${asOf})`;
}

function describeMachines({ machines, tuning }: JobView): string {
  return `${tuning === null ? '' : 'each trial: '}${machines.map(describeGroup).join(', ')}`;
}

function describePlacement({ placement }: JobView): string | null {
  return placement && `${placement.zone}, ${placement.provisioningModel}, ${placement.machineImage}`;
}

function describeLabels({ labels }: JobView): string {
  return Object.entries(labels)
    .map((label) => label.join('='))
    .join(', ');
}
