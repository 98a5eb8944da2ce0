import { openApi } from '#cli/client/open-api.ts';
import type { Command, Flag, Output } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_LIST_FLAGS } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { readNumber } from '#cli/core/read-number.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paintState } from '#cli/render/paint.ts';
import { readField } from '#cli/render/read-field.ts';
import { JOB_STATES } from '#shared/domain/job-state.ts';
import { type JobView, jobViewSchema } from '#shared/protocol/job-view.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatAgo, formatSpan } from '#shared/text/format-time.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import { describeKeptBriefly } from '#shared/views/describe/describe-kept.ts';

const JOBS_COUNT_MAX = 10_000;
const JOBS_COUNT_DEFAULT = 20;

type ListOptions = {
  /** Which jobs are listed; undefined for all. */
  readonly isListed?: (job: JobView) => boolean;
  /** A job in the form that is printed as JSON. */
  readonly toJson: (job: JobView) => unknown;
};

const FLAGS: readonly Flag[] = [
  {
    name: 'limit',
    value: 'N',
    summary: `maximum number of jobs, 1 to ${JOBS_COUNT_MAX} (default ${JOBS_COUNT_DEFAULT})`,
  },
  {
    name: 'filter',
    value: 'TERMS',
    summary: 'terms such as state=RUNNING, labels.team=vision, jobId:digits, combined with AND',
  },
  ...GCLOUD_LIST_FLAGS,
];

export const jobsList = createListCommand({ toJson: (job) => job });

/** A command that lists all or some of the jobs. */
export function createListCommand({ isListed, toJson }: ListOptions): Command {
  return {
    operands: [],
    excess: 'For one job, run `dropforge jobs describe JOB`.',
    flags: FLAGS,
    async run(invocation) {
      const { io, flag, print } = invocation;
      const countMax = readNumber(invocation, 'limit', { max: JOBS_COUNT_MAX }) ?? JOBS_COUNT_DEFAULT;
      const matchesFilter = readJobFilter(flag('filter'));
      const { api } = await openApi(invocation);
      // One more than printed, to detect whether there are more. A filter is applied to all jobs.
      const isComplete = flag('filter') === undefined && isListed === undefined;
      const fetchedMax = isComplete ? countMax + 1 : JOBS_COUNT_MAX;
      const fetched = await api.listJobs(fetchedMax);
      const found = fetched.filter((job) => (isListed?.(job) ?? true) && matchesFilter(job));
      const jobs = found.slice(0, countMax);
      print({ json: jobs.map(toJson), text: formatJobs(jobs, { filter: flag('filter'), output: io.stdout }) });
      if (found.length > countMax) {
        io.stderr.write(
          `There are more jobs: use --limit ${Math.min(JOBS_COUNT_MAX, countMax * 5)} to list older ones.\n`,
        );
      }
      return 0;
    },
  };
}

function formatJobs(
  jobs: readonly JobView[],
  { filter, output }: { readonly filter: string | undefined; readonly output: Output },
): string {
  if (jobs.length === 0) {
    return filter !== undefined
      ? `No jobs match ${filter}.`
      : `There are no jobs yet. To submit one, see \`${programName()} jobs submit training --help\`.`;
  }
  const nowMs = Date.now();
  const hasTunings = jobs.some(({ tuning }) => tuning !== null);
  const rows = jobs.map((job) => [
    job.jobId,
    paintState(job.state, output),
    formatAgo(job.createTime, nowMs),
    formatSpan(job, nowMs),
    job.tuning === null ? String(job.attempt) : '-',
    ...(hasTunings ? [describeTrials(job)] : []),
    [job.cause?.code ?? job.waitingFor?.code ?? describeCodes(job), describeKeptBriefly(job)]
      .filter(Boolean)
      .join(', '),
  ]);
  const head = ['JOB', 'STATE', 'CREATED', 'DURATION', 'ATTEMPT', ...(hasTunings ? ['TRIALS'] : []), 'CAUSE'];
  return formatTable(head, rows);
}

/** `12/40 trials, best 0.983`; a dash for a job that is not a tuning. */
function describeTrials({ tuning }: JobView): string {
  if (tuning === null) {
    return '-';
  }
  const objective = tuning.best?.objective ?? null;
  const best = objective === null ? '' : `, best ${formatValue(objective)}`;
  const optimal = tuning.optimal === null ? '' : `, ${tuning.optimal.count} optimal`;
  return `${tuning.endedTrialCount}/${tuning.trialsMax} trials${best}${optimal}`;
}

/** The warnings of a job that has no cause: `warning: METRIC_NOT_FINITE`. */
function describeCodes({ warnings }: JobView): string {
  const codes = [...new Set(warnings.map(({ code }) => code))];
  return codes.length === 0 ? '' : `warning: ${codes.join(', ')}`;
}

const TERM = /^([\w-]+(?:\.[\w-]+)*)\s*(!=|=|:)\s*("[^"]*"|'[^']*'|[^\s"'()]+)$/;

/**
 * Parses `--filter`, in a subset of gcloud's syntax ("gcloud topic filters"): `state=RUNNING`, `state!=FAILED`,
 * `jobId:digits` (contains), combined with AND. Throws UsageFailure for other expressions, because ignoring one would
 * list the wrong jobs.
 */
function readJobFilter(text: string | undefined): (job: JobView) => boolean {
  const terms = (text ?? '')
    .split(/\s+AND\s+/)
    .filter((term) => term.trim() !== '')
    .map(readTerm);
  return (job) => terms.every((matches) => matches(job));
}

/** A misspelled field has no value in any job, so that its filter would silently match none or all of them. */
function rejectUnknownField(field: string): void {
  const [name = ''] = field.split('.');
  if (!Object.hasOwn(jobViewSchema.shape, name)) {
    const fields = Object.keys(jobViewSchema.shape);
    throw new UsageFailure(
      `--filter: ${name} is not a field of a job. ${didYouMean(name, fields)}Fields: ${fields.join(', ')}.`,
    );
  }
}

function readTerm(text: string): (job: JobView) => boolean {
  const [, field, operator, value] = TERM.exec(text.trim()) ?? [];
  if (field === undefined || value === undefined) {
    throw new UsageFailure(
      `--filter '${text}' is not supported: use FIELD=VALUE, FIELD!=VALUE or FIELD:SUBSTRING, combined with AND; for ` +
        'example state=RUNNING.',
    );
  }
  const expected = value.replaceAll(/^["']|["']$/g, '').toLowerCase();
  rejectUnknownField(field);
  if (field === 'state' && operator !== ':' && !JOB_STATES.some((state) => state.toLowerCase() === expected)) {
    throw new UsageFailure(
      `--filter: ${value} is not a state of a job. ${didYouMean(value, JOB_STATES)}States: ${JOB_STATES.join(', ')}.`,
    );
  }
  const textOf = (job: JobView) => String(readField(job, field) ?? '').toLowerCase();
  switch (operator) {
    case ':':
      return (job) => textOf(job).includes(expected);
    case '!=':
      return (job) => textOf(job) !== expected;
    default:
      return (job) => textOf(job) === expected;
  }
}
