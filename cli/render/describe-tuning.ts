import type { Output } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeCause, formatFacts } from '#cli/render/describe-job.ts';
import { describeWarnings } from '#cli/render/describe-report.ts';
import { formatTrials } from '#cli/render/describe-trial.ts';
import { formatMoment, formatUtc } from '#cli/render/format.ts';
import { formatImages } from '#cli/render/format-images.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { listObjectives } from '#shared/protocol/objectives.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { formatParameters, formatValue } from '#shared/text/format-number.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** The job of a tuning. */
export type TuningJob = JobView & { readonly tuning: TuningView };

export function isTuningJob(job: JobView): job is TuningJob {
  return job.tuning !== null;
}

type RenderOptions = {
  /** The best trials, best first. */
  readonly top: readonly TrialView[];
  /** Those of intake. */
  readonly warnings: readonly Problem[];
  readonly nowMs: number;
  readonly output: Output;
};

/** Formats a tuning: best values, progress, cost and forecast, why it ended, the best trials, and what to do next. */
export function describeTuning(job: TuningJob, { top, warnings, nowMs, output }: RenderOptions): string {
  const { tuning } = job;
  const title = `${paint(job.jobId, 'bold', output)}  ${paintState(job.state, output)}`;
  const sections = [
    [title, ...formatFacts(listFacts(job, nowMs))],
    describeCause(job),
    describeWarnings([...warnings, ...job.warnings], output),
    top.length === 0
      ? []
      : [
          tuning.optimal === null ? 'Best trials' : 'Optimal trials first',
          ...indent(formatTrials(top, tuning, output)),
        ],
    ['Next', ...indent(listNextSteps(job).join('\n'))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

function listFacts(job: TuningJob, nowMs: number): readonly (readonly [string, string | null])[] {
  const { tuning } = job;
  return [
    ['created', formatMoment(job.createTime, nowMs)],
    ['started', job.startTime && formatMoment(job.startTime, nowMs)],
    ['ended', job.endTime && formatMoment(job.endTime, nowMs)],
    ['tuning', describeSearch(tuning)],
    ['progress', describeProgress(tuning)],
    ['best', tuning.best && describeBest(tuning, tuning.best)],
    ['optimal', tuning.optimal && describeOptimal(tuning.optimal)],
    ['recommended', tuning.recommended && describeRecommended(tuning, tuning.recommended)],
    ['cost', describeCost(job)],
    ['forecast', describeForecast(tuning)],
    ['stopped', job.endTime && describeStop(tuning)],
    ['resumes', tuning.resumes.join(', ')],
    ['machines', `each trial: ${job.machines.map(describeMachine).join(', ')}`],
    ['image', formatImages(job.images)],
    ['output', `${job.jobDir}/TRIAL`],
    ['source', job.source],
    [
      'labels',
      Object.entries(job.labels)
        .map((label) => label.join('='))
        .join(', '),
    ],
  ];
}

function describeMachine({ role, count, machineType, accelerator }: JobView['machines'][number]): string {
  return `${count} ${role} on ${machineType}${accelerator ? ` with ${accelerator}` : ''}`;
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  BAYESIAN: 'Bayesian optimization',
  GRID: 'grid search',
  RANDOM: 'random search',
};

const RULES = {
  MEDIAN: 'trials below the median of earlier ones are stopped',
  ASHA: 'only the best third of the trials go on at each rung (ASHA)',
} as const;

/** `maximizes accuracy by Bayesian optimization; trials below the median of earlier ones are stopped`. */
export function describeSearch(tuning: TuningView): string {
  const { algorithm, earlyStopping } = tuning;
  const by = ALGORITHMS[algorithm] ?? algorithm;
  const objectives = listObjectives(tuning).map(
    ({ metricId, goal }) => `${goal === 'MAXIMIZE' ? 'maximizes' : 'minimizes'} ${metricId}`,
  );
  const rule = earlyStopping === null ? '' : `; ${RULES[earlyStopping]}`;
  return `${objectives.join(' and ')} by ${by}${rule}`;
}

/** The trials that have ended, of those to run: a lost one does not count, because another one repeats its values. */
export function countProgress({ endedTrialCount, trialsMax }: TuningView): string {
  return `${endedTrialCount}/${trialsMax}`;
}

/** `12 of 40 trials, 3 running (1 failed, 4 stopped early)`. */
export function describeProgress(tuning: TuningView): string {
  const { counts } = tuning;
  const running = counts.running === 0 ? '' : `, ${counts.running} running`;
  const parts = [
    [counts.stoppedEarly, 'stopped early'],
    [counts.infeasible, 'infeasible'],
    [counts.failed, 'failed'],
    [counts.lost, 'lost'],
  ] as const;
  const details = parts.flatMap(([count, name]) => (count === 0 ? [] : [`${count} ${name}`]));
  return `${countProgress(tuning).replace('/', ' of ')} trials${running}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}

function describeBest({ metricId }: TuningView, best: TrialView): string {
  const objective = best.objective === null ? '' : ` ${formatValue(best.objective)}`;
  const step = best.step === null ? '' : ` at step ${formatValue(best.step)}`;
  return `trial ${best.trialId}: ${metricId}${objective}${step}\n              ${formatParameters(best.parameters)}`;
}

/** Which trials are optimal, and how many more there are than the view has. */
function describeOptimal({ count, trials }: NonNullable<TuningView['optimal']>): string {
  const ids = trials.map(({ trialId }) => trialId).join(', ');
  const isComplete = trials.length >= count;
  return count === 0
    ? 'no trial has a result'
    : `${count === 1 ? 'trial' : 'trials'} ${ids}${isComplete ? '' : ` and ${count - trials.length} more`}`;
}

/** Set if the metric is noisy: the best report was also lucky. */
function describeRecommended({ metricId }: TuningView, found: NonNullable<TuningView['recommended']>): string {
  const { trial, expectedObjective } = found;
  const expected = `${metricId} ${formatValue(expectedObjective)} expected, given the noise of all trials`;
  return `trial ${trial.trialId}: ${expected}\n              ${formatParameters(trial.parameters)}`;
}

/** The result of a tuning in one line: `12 of 40 trials, best trial 7: accuracy 0.9833 with learning_rate=0.03`. */
export function describeResult({ tuning }: TuningJob): string {
  const { best, metricId, optimal } = tuning;
  const stop = describeStop(tuning);
  const parts = [
    describeProgress(tuning),
    ...(stop === null ? [] : [`ended early because ${stop}`]),
    optimal !== null && optimal.count > 0
      ? `optimal: ${describeOptimal(optimal)}`
      : best === null || best.objective === null
        ? 'no trial has a result'
        : `best trial ${best.trialId}: ${metricId} ${formatValue(best.objective)} with ${formatParameters(best.parameters)}`,
  ];
  return parts.join('; ');
}

function describeCost({ price, tuning, endTime }: TuningJob): string {
  const limit = tuning.maxCostUsd === null ? '' : `, limit ${formatUsd(tuning.maxCostUsd)}`;
  if (price.totalUsd === null) {
    return 'unknown for these machines';
  }
  const rate = price.perHourUsd === null ? '' : `; an hour of a trial is ${formatUsd(price.perHourUsd)}`;
  const soFar = endTime === null ? ' so far' : '';
  return `${formatUsd(price.totalUsd)}${soFar} on Google Cloud${limit}${rate} (list prices as of ${price.asOf})`;
}

function describeForecast({ forecast }: TuningView): string | null {
  if (forecast === null) {
    return null;
  }
  const parts = [
    forecast.totalUsd === null ? '' : `${formatUsd(forecast.totalUsd)} in total`,
    forecast.endTime === null ? '' : `ends about ${formatUtc(forecast.endTime)}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? null : `${parts.join(', ')}, if the other trials are like those that have ended`;
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  MAX_COST: 'the limit of the cost was reached',
  MAX_RUNTIME: 'the limit of the running time was reached',
  NO_PROGRESS: 'there was no better trial for as long as studyStoppingConfig allows',
  SPACE_EXHAUSTED: 'all combinations of values were tried',
  TRIALS_MAX: 'maxNumTrials of studyStoppingConfig was reached',
  FAILED: 'too many trials failed',
  CANCELLED: 'it was cancelled',
};

/** Why the tuning ended before all of its trials; null if it ran all of them. */
export function describeStop({ stopReason }: TuningView): string | null {
  return stopReason === null ? null : (STOP_REASONS[stopReason] ?? stopReason);
}

function listNextSteps({ jobId, jobDir, tuning, endTime }: TuningJob): readonly string[] {
  const best = tuning.best ?? tuning.optimal?.trials[0] ?? null;
  return [
    ...(endTime === null ? [`${programName()} jobs stream-logs ${jobId}`] : []),
    `${programName()} trials ${jobId}`,
    ...(best === null
      ? [`${programName()} jobs stream-logs ${jobId} --trial 1`]
      : [
          `${programName()} jobs stream-logs ${jobId} --trial ${best.trialId}`,
          `${programName()} cp -r ${jobDir}/${best.trialId} .`,
        ]),
  ];
}

function indent(text: string): readonly string[] {
  return text.split('\n').map((line) => `  ${line}`);
}
