import type { Output } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import type { TuningJob } from '#cli/render/describe-tuning.ts';
import { describeBlock, formatFacts, joinSections } from '#cli/render/format.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import { listObjectives, objectiveValues } from '#shared/protocol/objectives.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatDuration, formatMoment } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** A trial with what its program has reported; a value that is not finite is a text. */
type MeasuredTrial = TrialView & {
  readonly curve: readonly {
    readonly step: number;
    readonly elapsedMs: number;
    readonly values: Readonly<Record<string, number | string>>;
  }[];
};

/** More points of a curve are thinned out evenly; the last one is always shown. */
const POINTS_SHOWN_MAX = 20;

type RenderOptions = { readonly job: TuningJob; readonly nowMs: number; readonly output: Output };

/** Formats one trial: its values, its result, and what its program has reported. */
export function describeMeasuredTrial(trial: MeasuredTrial, { job, nowMs, output }: RenderOptions): string {
  const { trialId, state, step, startTime, endTime, costUsd, reason, repeats, jobId } = trial;
  const objectives = objectiveValues(trial, job.tuning);
  const title = `${paint(`Trial ${trialId} of ${job.jobId}`, 'bold', output)}  ${paintState(state, output)}`;
  const values = Object.entries(trial.parameters).map(([name, value]) => [name, String(value)]);
  const facts = formatFacts([
    ...listObjectives(job.tuning).map(
      ({ metricId }, index) => [metricId, formatObjective(objectives[index], step)] as const,
    ),
    ['stopped', trial.isTrialStoppedEarly ? 'early: it fell behind the other trials' : null],
    ['reason', reason],
    ['repeats', repeats && `trial ${repeats}, which was lost`],
    ['started', startTime && formatMoment(startTime, nowMs)],
    ['ended', endTime && formatMoment(endTime, nowMs)],
    ['cost', costUsd === null ? null : formatUsd(costUsd)],
    ['job', jobId],
    ['output', `${job.jobDir}/${trialId}`],
  ]);
  return joinSections([
    [title, ...facts],
    describeBlock('Values', formatTable(['PARAMETER', 'VALUE'], values)),
    trial.curve.length === 0 ? [] : describeBlock('Measurements', formatCurve(trial)),
    describeBlock('Next', `${programName()} jobs stream-logs ${job.jobId} --trial ${trialId}`),
  ]);
}

function formatObjective(objective: number | null | undefined, step: number | null): string {
  const at = step === null ? '' : ` at step ${formatValue(step)}`;
  return objective == null ? '-' : `${objective}${at}`;
}

function formatCurve({ curve }: MeasuredTrial): string {
  const names = [...new Set(curve.flatMap(({ values }) => Object.keys(values)))];
  const stride = Math.ceil(curve.length / POINTS_SHOWN_MAX);
  const shown = curve.filter((_, index) => index === curve.length - 1 || index % stride === 0);
  const rows = shown.map(({ step, elapsedMs, values }) => [
    formatValue(step),
    formatDuration(elapsedMs),
    ...names.map((name) => formatValue(values[name] ?? '-')),
  ]);
  return formatTable(['STEP', 'ELAPSED', ...names], rows);
}
