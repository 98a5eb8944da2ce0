/** A column of a chart: undefined has no point here, null interrupts the line. */
export type Column = (number | null | undefined)[];

/** Beyond this weight a curve of any length is one line. */
export const SMOOTHING_MAX = 0.999;

/**
 * The exponential moving average with the correction of its start, as TensorBoard draws it: the first values count as
 * much as their number says. Values that are not finite (null) and missing points stay as they are and have no weight.
 */
export function smooth(column: Column, weight: number): Column {
  if (weight <= 0) {
    return column;
  }
  let average = 0;
  let remaining = 1;
  return column.map((value) => {
    if (value === null || value === undefined) {
      return value;
    }
    average = average * weight + (1 - weight) * value;
    remaining *= weight;
    return average / (1 - remaining);
  });
}
