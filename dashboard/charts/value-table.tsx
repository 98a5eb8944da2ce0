import { useMemo } from 'preact/hooks';
import type { ChartProps } from '#dashboard/charts/chart-links.ts';
import { formatX } from '#dashboard/charts/shape/format-axis.ts';
import { shapeCurves } from '#dashboard/charts/shape/shape-curves.ts';
import type { Column } from '#dashboard/components/column.ts';
import { DataTable } from '#dashboard/components/data-table.tsx';
import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { formatInUnit } from '#shared/text/format-number.ts';

const ROWS_MAX = 200;

type Props = Pick<ChartProps, 'title' | 'curves' | 'axis' | 'unit'>;

/** The values of a chart as a table: at most ROWS_MAX rows at equal distances, the newest first. */
export function ValueTable({ title, curves, axis, unit }: Props) {
  const { xs, rawColumns, marks } = useMemo(
    () => shapeCurves(curves, { axis, smoothing: 0, isLogarithmic: false }),
    [curves, axis],
  );
  const stride = Math.max(1, Math.ceil(xs.length / ROWS_MAX));
  const rows = xs.map((_, index) => index).filter((index) => (xs.length - 1 - index) % stride === 0);
  const textAt = (line: number, index: number) => {
    const value = rawColumns[line]?.[index];
    const mark = marks.find(({ x, curve }) => x === xs[index] && curve === line);
    return mark?.value ?? (typeof value === 'number' ? formatInUnit(value, unit) : '');
  };
  const columns: readonly Column<number>[] = [
    {
      header: axis === 'step' ? 'Step' : axis === 'cost' ? 'Cost' : 'Time',
      cell: (index) => formatX(xs[index] ?? 0, axis).replace(/^step /, ''),
    },
    ...curves.map(({ label }, line) => ({
      header: label,
      class: 'number user-text',
      cell: (index: number) => textAt(line, index),
    })),
  ];
  return (
    <ScrollRegion class="value-table" label={`${title}: values`}>
      <DataTable columns={columns} rows={rows.toReversed()} keyOf={(index) => index} />
      {stride > 1 && (
        <p class="muted">
          Every {stride}th of {xs.length.toLocaleString('en-US')} points.
        </p>
      )}
    </ScrollRegion>
  );
}
