import { formatValue } from '#dashboard/format/format-number.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';

/** `hidden 64, learning_rate 0.03`. */
export function describeParameters({ parameters }: Pick<TrialView, 'parameters'>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name} ${formatValue(value)}`)
    .join(', ');
}
