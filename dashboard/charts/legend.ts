import type { ChartProps } from '#dashboard/charts/chart.tsx';
import { formatInUnit, formatX } from '#dashboard/charts/shape/format-axis.ts';
import { nearestIndex, type ShapedCurves } from '#dashboard/charts/shape/shape-curves.ts';

/** A chart as it is drawn. */
export type Drawn = { readonly shaped: ShapedCurves; readonly props: Pick<ChartProps, 'curves' | 'unit' | 'axis'> };

/**
 * Shows the values at an index, or the last ones, in the legend. Written to the document directly: the pointer moves
 * more often than components should render.
 */
export function showLegend(legend: HTMLElement | null, drawn: Drawn, index: number | null): void {
  const items = legend?.querySelectorAll('.legend-value') ?? [];
  items.forEach((item, line) => {
    item.textContent = valueAt(drawn, line, index ?? drawn.shaped.xs.length - 1);
  });
}

/** The values at an index in words, for readers of the screen. */
export function describeValues(drawn: Drawn, index: number): string {
  const { shaped, props } = drawn;
  const x = shaped.xs[index];
  const values = props.curves.map(({ label }, line) => `${label} ${valueAt(drawn, line, index)}`);
  return x === undefined ? 'no values' : `${formatX(x, props.axis)}: ${values.join(', ')}`;
}

/** As it was measured, also if averages are drawn; of a line without a point there, its nearest one. */
function valueAt({ shaped, props }: Drawn, line: number, index: number): string {
  const column = shaped.rawColumns[line] ?? [];
  const near = nearestIndex(column, index);
  const value = near === null ? undefined : column[near];
  return typeof value === 'number' ? formatInUnit(value, props.unit) : '–';
}
