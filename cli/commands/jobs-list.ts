import { createApiClient, JOBS_COUNT_MAX } from '#cli/api-client.ts';
import { findCloud } from '#cli/cloud.ts';
import type { Command } from '#cli/command.ts';
import { UsageFailure } from '#cli/failure.ts';
import { formatTable } from '#cli/format-table.ts';
import { formatAgo, formatDuration } from '#cli/format-time.ts';
import { paintState } from '#cli/paint.ts';
import type { JobView } from '#shared/protocol/report.ts';

export const jobsList: Command = {
  operands: [],
  flags: [{ name: 'limit', value: 'N', summary: `how many jobs, 1 to ${JOBS_COUNT_MAX} (default 20)` }],
  async run({ io, flag, print, ...caller }) {
    const countMax = Number(flag('limit') ?? 20);
    if (!Number.isInteger(countMax) || countMax < 1 || countMax > JOBS_COUNT_MAX) {
      throw new UsageFailure(`--limit must be a whole number from 1 to ${JOBS_COUNT_MAX}, not '${flag('limit')}'.`);
    }
    const { api } = await findCloud({ ...caller, io });
    const jobs = await createApiClient(api, io.interrupted).listJobs(countMax);
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
        ? 'There are no jobs yet: `npx dropforge jobs submit training --help` tells how to submit one.'
        : formatTable(['JOB', 'STATE', 'CREATED', 'RAN', 'ATTEMPT', 'CAUSE'], rows);
    print({ json: jobs, text });
    return 0;
  },
};

function formatRunTime({ startTime, endTime }: JobView, nowMs: number): string {
  return startTime === null
    ? ''
    : formatDuration((endTime === null ? nowMs : Date.parse(endTime)) - Date.parse(startTime));
}
