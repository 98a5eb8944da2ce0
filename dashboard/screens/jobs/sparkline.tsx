import { memo } from '#dashboard/components/memo.ts';
import { HEIGHT, pathOf, WIDTH } from '#dashboard/screens/jobs/sparkline-path.ts';
import type { Sparkline as Line } from '#shared/protocol/answers.ts';
import { formatValue } from '#shared/text/format-number.ts';

/** The course of a metric as a line without axes; nothing below two points. */
export const Sparkline = memo(function Sparkline({ line }: { readonly line: Line }) {
  if (line.values.length < 2) {
    return null;
  }
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={describe(line)}>
      <path d={pathOf(line)} />
    </svg>
  );
});

function describe({ name, values }: Line): string {
  const [first = 0, last = 0] = [values[0], values.at(-1)];
  const [lowest, highest] = [Math.min(...values), Math.max(...values)].map(formatValue);
  return `${name} from ${formatValue(first)} to ${formatValue(last)}, lowest ${lowest}, highest ${highest}`;
}
