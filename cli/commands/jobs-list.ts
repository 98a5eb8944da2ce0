import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget } from '#cli/client/find-target.ts';
import type { Command } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_LIST_FLAGS, judgeJobFlags } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { formatAgo, formatDuration } from '#cli/render/format.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paintState } from '#cli/render/paint.ts';
import { readField } from '#cli/render/result-format.ts';
import type { JobView } from '#shared/protocol/report.ts';

const JOBS_COUNT_MAX = 10_000;
const JOBS_COUNT_DEFAULT = 20;

export const jobsList: Command = {
  operands: [],
  flags: [
    { name: 'limit', value: 'N', summary: `how many jobs, 1 to ${JOBS_COUNT_MAX} (default ${JOBS_COUNT_DEFAULT})` },
    {
      name: 'filter',
      value: 'TERMS',
      summary: 'only these: state=RUNNING, labels.team=vision, jobId:digits, with AND',
    },
    ...GCLOUD_LIST_FLAGS,
  ],
  async run(invocation) {
    const { io, flag, print } = invocation;
    const countMax = Number(flag('limit') ?? JOBS_COUNT_DEFAULT);
    if (!Number.isInteger(countMax) || countMax < 1 || countMax > JOBS_COUNT_MAX) {
      throw new UsageFailure(`--limit must be a whole number from 1 to ${JOBS_COUNT_MAX}, not '${flag('limit')}'.`);
    }
    const isWanted = readJobFilter(flag('filter'));
    const target = await findTarget(invocation);
    judgeJobFlags(invocation, target);
    // One more than wanted tells whether there are more; a filter may have to look at all of them.
    const seenMax = flag('filter') === undefined ? countMax + 1 : JOBS_COUNT_MAX;
    const found = (await createApiClient(target.api, io.interrupted).listJobs(seenMax)).filter(isWanted);
    const jobs = found.slice(0, countMax);
    const nowMs = Date.now();
    const rows = jobs.map((job) => [
      job.jobId,
      paintState(job.state, io.stdout),
      formatAgo(job.createTime, nowMs),
      formatRunTime(job, nowMs),
      String(job.attempt),
      job.cause?.code ?? job.waitingFor?.code ?? '',
    ]);
    const text =
      rows.length === 0 && flag('filter') !== undefined
        ? `No job is so: ${flag('filter')}.`
        : rows.length === 0
          ? `There are no jobs yet: \`${programName()} jobs submit training --help\` tells how to submit one.`
          : formatTable(['JOB', 'STATE', 'CREATED', 'RAN', 'ATTEMPT', 'CAUSE'], rows);
    print({ json: jobs, text });
    if (found.length > countMax) {
      io.stderr.write(`There are more: --limit ${Math.min(JOBS_COUNT_MAX, countMax * 5)} shows older ones, too.\n`);
    }
    return 0;
  },
};

function formatRunTime({ startTime, endTime }: JobView, nowMs: number): string {
  return startTime === null
    ? ''
    : formatDuration((endTime === null ? nowMs : Date.parse(endTime)) - Date.parse(startTime));
}

const TERM = /^([\w-]+(?:\.[\w-]+)*)\s*(!=|=|:)\s*("[^"]*"|'[^']*'|[^\s"'()]+)$/;

/**
 * Reads what `--filter` says in gcloud's words ("gcloud topic filters"): `state=RUNNING`, `state!=FAILED`, `jobId:digits`
 * for what holds a text, several of them with AND. Throws for what it does not know: a filter that is passed over would
 * show other jobs than were asked for.
 */
export function readJobFilter(text: string | undefined): (job: JobView) => boolean {
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
      `--filter '${text}' cannot be honoured: write FIELD=VALUE, FIELD!=VALUE or FIELD:PART, several of them with AND, ` +
        'such as state=RUNNING.',
    );
  }
  const wanted = value.replaceAll(/^["']|["']$/g, '').toLowerCase();
  const textOf = (job: JobView) => String(readField(job, field) ?? '').toLowerCase();
  switch (operator) {
    case ':':
      return (job) => textOf(job).includes(wanted);
    case '!=':
      return (job) => textOf(job) !== wanted;
    default:
      return (job) => textOf(job) === wanted;
  }
}
