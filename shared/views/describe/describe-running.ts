import type { RunningSummary } from '#shared/protocol/running-summary.ts';
import { formatCount } from '#shared/text/format-number.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** `2 VMs, $0.38/h now`. */
export function describeRunning({ vms, perHourUsd, isLowerBound }: RunningSummary): string {
  return `${isLowerBound ? 'At least ' : ''}${formatCount(vms, 'VM')}, ${formatUsd(perHourUsd)}/h now`;
}
