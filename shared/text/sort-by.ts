export type SortValue = number | string | null | undefined;

/** Rows in an order: numbers by size, before texts; rows without the value come last in both directions. */
export function sortBy<Row>(
  rows: readonly Row[],
  valueIn: (row: Row) => SortValue,
  isDescending = false,
): readonly Row[] {
  return rows.toSorted((a, b) => {
    const [left, right] = [valueIn(a) ?? null, valueIn(b) ?? null];
    if (left === null || right === null) {
      return Number(left === null) - Number(right === null);
    }
    const [x, y] = [Number(left), Number(right)];
    const areNumbers = !Number.isNaN(x) && !Number.isNaN(y);
    const order = areNumbers ? x - y : String(left).localeCompare(String(right), 'en', { numeric: true });
    return isDescending ? -order : order;
  });
}
