import type { ChartProps } from '#dashboard/charts/chart-links.ts';
import { formatX } from '#dashboard/charts/shape/format-axis.ts';
import { nearestIndex, type ShapedCurves } from '#dashboard/charts/shape/shape-curves.ts';
import { formatInUnit } from '#shared/text/format-number.ts';

/** A chart as it is drawn. */
export type Drawn = { readonly shaped: ShapedCurves; readonly props: Pick<ChartProps, 'curves' | 'unit' | 'axis'> };

/**
 * Shows the values at an index, or the last ones, in the legend. Written to the document directly: the pointer moves
 * more often than components should render.
 */
export function showLegend(legend: HTMLElement | null, drawn: Drawn, index: number | null): void {
  const items = legend?.querySelectorAll('.legend-value') ?? [];
  items.forEach((item, line) => {
    item.textContent = index === null ? lastValue(drawn, line) : valueAt(drawn, line, index);
  });
}

/** The values at an index in words, for screen readers. */
export function describeValues(drawn: Drawn, index: number): string {
  const { shaped, props } = drawn;
  const x = shaped.xs[index];
  const values = props.curves.map(({ label }, line) => `${label} ${valueAt(drawn, line, index)}`);
  return x === undefined ? 'no values' : `${formatX(x, props.axis)}: ${values.join(', ')}`;
}

/** The value as it was measured, also if averages are drawn; none before a line begins and after it ends. */
function valueAt(drawn: Drawn, line: number, index: number): string {
  const column = drawn.shaped.rawColumns[line] ?? [];
  const isNumber = (value: unknown) => typeof value === 'number';
  const isWithin = column.findIndex(isNumber) <= index && column.findLastIndex(isNumber) >= index;
  return isWithin ? format(drawn, column[nearestIndex(column, index) ?? -1]) : '–';
}

function lastValue(drawn: Drawn, line: number): string {
  const column = drawn.shaped.rawColumns[line] ?? [];
  return format(
    drawn,
    column.findLast((value) => typeof value === 'number'),
  );
}

function format({ props }: Drawn, value: number | null | undefined): string {
  return typeof value === 'number' ? formatInUnit(value, props.unit) : '–';
}
