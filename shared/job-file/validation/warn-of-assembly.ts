import { priceOf } from '#shared/catalog/price.ts';
import { TIMEOUTS, UNUSED_FLEX_START_VMS_PER_REPLICA_MAX } from '#shared/domain/timeouts.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import type { PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** From the start of a VM until it is noticed: a check of pending VMs, and the reconciler's interval. */
const NOTICED_MS_MAX = TIMEOUTS.pendingMs + 180_000;

/**
 * Warns of what a cluster with FLEX_START may cost before it runs: its VMs start one after another, and those that have
 * started are billed while they wait.
 */
export function warnOfAssembly(
  { strategy }: JobDraft,
  machines: readonly PlannedGroup[],
  { warnings }: Pick<Findings, 'warnings'>,
): void {
  const count = machines.reduce((sum, group) => sum + group.count, 0);
  if (count < 2 || strategy === undefined) {
    return;
  }
  const minutes = TIMEOUTS.assemblyMs / 60_000;
  const hours = (UNUSED_FLEX_START_VMS_PER_REPLICA_MAX * (TIMEOUTS.assemblyMs + NOTICED_MS_MAX)) / 3_600_000;
  const counted = machines.map(({ machine, count: each }) => ({ ...machine, count: each }));
  // On demand is never cheaper.
  const perHourUsd = priceOf(counted, 'FLEX_START').perHourUsd ?? priceOf(counted, 'STANDARD').perHourUsd;
  const most = perHourUsd === null ? `the price of ${hours} hours of the cluster` : formatUsd(perHourUsd * hours);
  warnings.push({
    code: 'FLEX_START_CLUSTER',
    message: `With FLEX_START the ${count} VMs start one after another, as capacity becomes available. Those that have started are billed while they wait, for ${minutes} min in a zone; then all are deleted, and the next zone is tried. The job fails when that has cost about ${most}.`,
    remedy:
      'Request one machine with more GPUs if the job fits on it, or choose SPOT or STANDARD, which start all or none.',
    ...locationOf(strategy),
  });
}
