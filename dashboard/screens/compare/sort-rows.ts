import { type Order, sortBy } from '#dashboard/components/sort-by.ts';
import type { ComparedJob } from '#dashboard/screens/compare/parameters.ts';

/** Rows in an order by `metric NAME`, `parameter NAME` or `cost`; if it is empty, in that of the address. */
export function sortRows(rows: readonly ComparedJob[], { by, isDescending }: Order): readonly ComparedJob[] {
  return by === '' ? rows : sortBy(rows, (job) => valueBy(job, by), isDescending);
}

function valueBy({ view, parameters, metrics }: ComparedJob, by: string): number | string | undefined {
  if (by === 'cost') {
    return view.price.totalUsd ?? undefined;
  }
  const [, kind, name = ''] = /^(metric|parameter) (.*)$/s.exec(by) ?? [];
  return kind === 'metric' ? metrics[name] : parameters[name];
}
