import { findTarget } from '#cli/cloud/find-target.ts';
import type { Command } from '#cli/command.ts';
import { UsageFailure } from '#cli/failure.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { formatTable } from '#cli/output/format-table.ts';
import { formatAgo, formatDuration } from '#cli/output/format-time.ts';
import { paintState } from '#cli/output/paint.ts';
import { programName } from '#cli/program-name.ts';
import type { JobView } from '#shared/protocol/report.ts';

const JOBS_COUNT_MAX = 10_000;
const JOBS_COUNT_DEFAULT = 20;

export const jobsList: Command = {
  operands: [],
  flags: [
    { name: 'limit', value: 'N', summary: `how many jobs, 1 to ${JOBS_COUNT_MAX} (default ${JOBS_COUNT_DEFAULT})` },
  ],
  async run({ io, flag, print, ...caller }) {
    const countMax = Number(flag('limit') ?? JOBS_COUNT_DEFAULT);
    if (!Number.isInteger(countMax) || countMax < 1 || countMax > JOBS_COUNT_MAX) {
      throw new UsageFailure(`--limit must be a whole number from 1 to ${JOBS_COUNT_MAX}, not '${flag('limit')}'.`);
    }
    const { api } = await findTarget({ ...caller, io });
    // One more than wanted tells whether there are more.
    const found = await createApiClient(api, io.interrupted).listJobs(countMax + 1);
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
      rows.length === 0
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
