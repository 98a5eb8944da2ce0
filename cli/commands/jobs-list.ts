import { openApi } from '#cli/client/open-api.ts';
import { type Command, defineFlag, type Flag } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_LIST_FLAGS } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { readNumber } from '#cli/core/read-number.ts';
import { createJobSorter, findJobText, formatJobs } from '#cli/render/job-columns.ts';
import { JOB_STATES } from '#shared/domain/job-state.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

const JOBS_COUNT_MAX = 10_000;
const JOBS_COUNT_DEFAULT = 20;

type ListOptions = {
  /** Which jobs are listed; undefined for all. */
  readonly isListed?: (job: JobView) => boolean;
  /** A job in the form that is printed as JSON. */
  readonly toJson: (job: JobView) => unknown;
};

const FLAGS: readonly Flag[] = [
  defineFlag('limit N', `maximum number of jobs, 1 to ${JOBS_COUNT_MAX} (default ${JOBS_COUNT_DEFAULT})`),
  defineFlag('filter TERMS', 'terms such as state=RUNNING, labels.team=vision, jobId:digits, combined with AND'),
  defineFlag('sort-by COLUMN', 'a column, such as cost, or a field; ~COLUMN for descending order (default: ~created)'),
  ...GCLOUD_LIST_FLAGS,
];

export const jobsList = createListCommand({ toJson: (job) => job });

/** A command that lists all or some of the jobs. */
export function createListCommand({ isListed, toJson }: ListOptions): Command {
  return {
    operands: [],
    excess: 'For one job, run `dropforge jobs describe JOB`.',
    example: '--filter state=RUNNING --sort-by=~cost',
    flags: FLAGS,
    async run(invocation) {
      const { io, flag, print } = invocation;
      const countMax = readNumber(invocation, 'limit', { max: JOBS_COUNT_MAX }) ?? JOBS_COUNT_DEFAULT;
      const matchesFilter = readJobFilter(flag('filter'));
      const sort = createJobSorter(flag('sort-by') ?? '~created');
      const { api } = await openApi(invocation);
      // One more than printed, to detect whether there are more. A filter is applied to all jobs, and so is an order.
      const isComplete = flag('filter') === undefined && flag('sort-by') === undefined && isListed === undefined;
      const fetchedMax = isComplete ? countMax + 1 : JOBS_COUNT_MAX;
      const fetched = await api.listJobs(fetchedMax);
      const found = sort(fetched.filter((job) => (isListed?.(job) ?? true) && matchesFilter(job)));
      const jobs = found.slice(0, countMax);
      const text = jobs.length === 0 ? describeNone(flag('filter')) : formatJobs(jobs, io.stdout);
      print({ json: jobs.map(toJson), text });
      if (found.length > countMax) {
        io.stderr.write(`There are more jobs: use --limit ${Math.min(JOBS_COUNT_MAX, countMax * 5)} to list more.\n`);
      }
      return 0;
    },
  };
}

function describeNone(filter: string | undefined): string {
  return filter === undefined
    ? `There are no jobs yet. To submit one, see \`${programName()} jobs submit training --help\`.`
    : `No jobs match ${filter}.`;
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

function readTerm(text: string): (job: JobView) => boolean {
  const [, field, operator, value] = TERM.exec(text.trim()) ?? [];
  if (field === undefined || value === undefined) {
    throw new UsageFailure(
      `--filter '${text}' is not supported: use FIELD=VALUE, FIELD!=VALUE or FIELD:SUBSTRING, combined with AND; for ` +
        'example state=RUNNING.',
    );
  }
  const expected = value.replaceAll(/^["']|["']$/g, '').toLowerCase();
  const textOf = findJobText(field);
  if (field === 'state' && operator !== ':' && !JOB_STATES.some((state) => state.toLowerCase() === expected)) {
    throw new UsageFailure(
      `--filter: ${value} is not a state of a job. ${didYouMean(value, JOB_STATES)}States: ${JOB_STATES.join(', ')}.`,
    );
  }
  switch (operator) {
    case ':':
      // The star matches any value, as in gcloud.
      return (job) => (expected === '*' ? textOf(job) !== '' : textOf(job).includes(expected));
    case '!=':
      return (job) => textOf(job) !== expected;
    default:
      return (job) => textOf(job) === expected;
  }
}
