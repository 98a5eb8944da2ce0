import { type Costs, paretoFrontOf } from '#shared/tuning/pareto.ts';

/**
 * The volume that the points dominate, up to the reference point; points beyond it do not count. By slices along the
 * last objective, which is fast enough for three objectives and a few hundred points.
 */
export function hypervolumeOf(points: readonly Costs[], reference: Costs): number {
  const inside = points.filter((costs) => costs.every((cost, index) => cost < (reference[index] ?? 0)));
  const front = paretoFrontOf(inside.map((costs) => ({ costs }))).map(({ costs }) => costs);
  const last = reference.length - 1;
  const limit = reference[last] ?? 0;
  if (last === 0) {
    return front.length === 0 ? 0 : limit - Math.min(...front.map(([cost = limit]) => cost));
  }
  const sorted = front.toSorted((a, b) => (a[last] ?? 0) - (b[last] ?? 0));
  return sorted.reduce((volume, costs, index) => {
    const height = (sorted[index + 1]?.[last] ?? limit) - (costs[last] ?? limit);
    const slice = sorted.slice(0, index + 1).map((one) => one.slice(0, last));
    return volume + (height === 0 ? 0 : height * hypervolumeOf(slice, reference.slice(0, last)));
  }, 0);
}
