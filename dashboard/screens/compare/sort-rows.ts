import type { ComparedJob } from '#dashboard/screens/compare/compare-table.tsx';

/** `by` is `metric NAME`, `parameter NAME`, `cost`, or empty for the order of the address. */
export type RowOrder = { readonly by: string; readonly isDescending: boolean };

/** Rows in an order: numbers by size, before texts; rows without the value come last in both directions. */
export function sortRows(rows: readonly ComparedJob[], { by, isDescending }: RowOrder): readonly ComparedJob[] {
  if (by === '') {
    return rows;
  }
  return rows.toSorted((a, b) => {
    const [left, right] = [valueBy(a, by), valueBy(b, by)];
    if (left === undefined || right === undefined) {
      return Number(left === undefined) - Number(right === undefined);
    }
    const [x, y] = [Number(left), Number(right)];
    const areNumbers = !Number.isNaN(x) && !Number.isNaN(y);
    const order = areNumbers ? x - y : String(left).localeCompare(String(right), 'en', { numeric: true });
    return isDescending ? -order : order;
  });
}

function valueBy({ view, parameters, metrics }: ComparedJob, by: string): number | string | undefined {
  if (by === 'cost') {
    return view.price.totalUsd ?? undefined;
  }
  const [, kind, name = ''] = /^(metric|parameter) (.*)$/s.exec(by) ?? [];
  return kind === 'metric' ? metrics[name] : parameters[name];
}
