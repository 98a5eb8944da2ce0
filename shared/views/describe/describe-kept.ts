import type { JobView } from '#shared/protocol/job-view.ts';
import { formatClock, formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

type Kept = Pick<JobView, 'kept'>;

/** Whether the VM of the failed program is still kept, and billed. */
export function isKept({ kept }: Kept): boolean {
  return kept !== null && kept.releaseTime === null;
}

/** Until when the VM of a failed program is kept, or was, and its price; null if none was kept. */
export function describeKept({ kept }: Kept, nowMs: number): string | null {
  if (kept === null) {
    return null;
  }
  const { replica, vmName, untilTime, releaseTime, perHourUsd } = kept;
  const until =
    releaseTime === null
      ? `is kept until ${formatClock(untilTime)} (${formatDuration(Date.parse(untilTime) - nowMs)} left)`
      : `was kept until ${formatClock(releaseTime)}`;
  return `VM ${vmName} (${replica}) ${until}, ${perHourUsd === null ? 'unknown price' : `${formatUsd(perHourUsd)}/h`}`;
}

/** `VM kept until 14:30`, for a line of a list; null if none is kept now. */
export function describeKeptBriefly(job: Kept): string | null {
  return job.kept === null || !isKept(job) ? null : `VM kept until ${formatClock(job.kept.untilTime)}`;
}
