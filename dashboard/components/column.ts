import type { ComponentChildren } from 'preact';
import { type SortValue, sortBy } from '#shared/text/sort-by.ts';

/** The order of rows by a column. */
export type Order = { readonly by: string; readonly isDescending: boolean };

/** A column is one row of code: its header and its cells cannot be added or removed apart. */
export type Column<Row> = {
  readonly header: ComponentChildren;
  /** The class of the header and of the cells. */
  readonly class?: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** The name of the order that a click on the header selects, and its values; absent if there is none. */
  readonly by?: string;
  readonly value?: (row: Row) => SortValue;
};

/** Rows in the order of a column; as they are if no column has it. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { by, isDescending }: Order,
): readonly Row[] {
  const value = columns.find((column) => column.by === by)?.value;
  return value === undefined ? rows : sortBy(rows, value, isDescending);
}
