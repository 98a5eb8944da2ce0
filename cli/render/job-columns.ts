import type { Output } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paintState } from '#cli/render/paint.ts';
import { readField } from '#cli/render/read-field.ts';
import { type JobView, jobViewSchema } from '#shared/protocol/job-view.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatAgo, formatSpan } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import { type SortValue, sortBy } from '#shared/text/sort-by.ts';
import { describeKeptBriefly } from '#shared/views/describe/describe-kept.ts';
import { summarizeMachines } from '#shared/views/describe/describe-machines.ts';
import { describeProgress, mainMetricOf } from '#shared/views/describe/job-progress.ts';

type Column = {
  readonly cell: (job: JobView, nowMs: number) => string;
  /** The list is sorted by this; the text of the cell by default. */
  readonly value?: (job: JobView, nowMs: number) => SortValue;
};

/** The columns of the list of jobs. */
const COLUMNS = new Map<string, Column>(
  Object.entries({
    job: { cell: ({ jobId }) => jobId },
    state: { cell: ({ state }) => state },
    gpu: { cell: ({ machines }) => summarizeMachines(machines).gpus ?? '-' },
    progress: {
      cell: (job, nowMs) => describeProgress(job, nowMs)?.text ?? '-',
      value: (job, nowMs) => describeProgress(job, nowMs)?.fraction,
    },
    metric: { cell: describeMetric, value: (job) => mainMetricOf(job)?.value },
    cost: { cell: ({ price }) => formatUsd(price.totalUsd), value: ({ price }) => price.totalUsd },
    created: { cell: ({ createTime }, nowMs) => formatAgo(createTime, nowMs), value: ({ createTime }) => createTime },
    duration: {
      cell: formatSpan,
      value: ({ startTime, endTime }, nowMs) =>
        startTime && (endTime === null ? nowMs : Date.parse(endTime)) - Date.parse(startTime),
    },
    attempt: { cell: ({ attempt, tuning }) => (tuning === null ? String(attempt) : '-') },
    cause: { cell: describeCause },
  }),
);

/** The columns that a narrow terminal leaves out, the first one first. */
const LEFT_OUT_FIRST = ['attempt', 'duration', 'created', 'metric', 'gpu', 'progress'];

/** Formats jobs with the columns for which a terminal has room; a pipe or a file gets all of them. */
export function formatJobs(jobs: readonly JobView[], output: Output): string {
  const nowMs = Date.now();
  const room = output.terminal?.columns || Number.POSITIVE_INFINITY;
  let shown = [...COLUMNS].map(([name, { cell }]) => ({ name, cells: jobs.map((job) => cell(job, nowMs)) }));
  for (const leftOut of LEFT_OUT_FIRST) {
    const widths = shown.map(({ name, cells }) => Math.max(...[name, ...cells].map(({ length }) => length + 2)));
    shown =
      widths.reduce((sum, width) => sum + width, -2) <= room ? shown : shown.filter(({ name }) => name !== leftOut);
  }
  const head = shown.map(({ name }) => name.toUpperCase());
  const paintCell = (name: string, cell = '') => (name === 'state' ? paintState(cell, output) : cell);
  return formatTable(
    head,
    jobs.map((_, row) => shown.map(({ name, cells }) => paintCell(name, cells[row]))),
  );
}

/**
 * Returns a function that sorts by a column or field, `~` before its name for descending order, as in gcloud. Jobs
 * without a value come last. Throws UsageFailure for an unknown name.
 */
export function createJobSorter(by: string): (jobs: readonly JobView[]) => readonly JobView[] {
  const nowMs = Date.now();
  const { cell, value = cell } = findColumn('--sort-by', by.replace(/^~/, ''));
  return (jobs) => sortBy(jobs, (job) => value(job, nowMs), by.startsWith('~'));
}

/** The text of a column or field in lowercase, for a filter. Throws UsageFailure for an unknown name. */
export function findJobText(name: string): (job: JobView) => string {
  const { cell } = findColumn('--filter', name);
  return (job) => cell(job, Date.now()).toLowerCase();
}

function findColumn(flag: string, name: string): Column {
  const [field = ''] = name.split('.');
  const column = COLUMNS.get(name);
  if (column === undefined && !Object.hasOwn(jobViewSchema.shape, field)) {
    const names = [...new Set([...COLUMNS.keys(), ...Object.keys(jobViewSchema.shape)])];
    throw new UsageFailure(
      `${flag}: ${name} is not a field of a job. ${didYouMean(name, names)}Columns and fields: ${names.join(', ')}.`,
    );
  }
  const value = (job: JobView) => readField(job, name) as SortValue;
  return column ?? { value, cell: (job) => String(value(job) ?? '') };
}

/** `loss 0.3454`. */
function describeMetric(job: JobView): string {
  const metric = mainMetricOf(job);
  return metric === null ? '-' : `${metric.name} ${formatValue(metric.value)}`;
}

/** The cause of a failure, what the job waits for, or its warnings: `warning: METRIC_NOT_FINITE`. */
function describeCause(job: JobView): string {
  const codes = [...new Set(job.warnings.map(({ code }) => code))];
  const warnings = codes.length === 0 ? '' : `warning: ${codes.join(', ')}`;
  return [job.cause?.code ?? job.waitingFor?.code ?? warnings, describeKeptBriefly(job)].filter(Boolean).join(', ');
}
