import type { Curve } from '#dashboard/charts/shape/shape-curves.ts';
import type { SeriesPoints } from '#shared/protocol/metric-series.ts';

/**
 * The attempts of one series as one curve. Steps that a later attempt repeated, because it resumed from an earlier
 * checkpoint, are those of the later one.
 */
export function mergeAttempts(attempts: readonly SeriesPoints[]): Curve['points'] {
  const ordered = attempts.toSorted((a, b) => a.attempt - b.attempt);
  const kept = ordered.map((points, index) => {
    const resumed = ordered.slice(index + 1).flatMap(({ steps }) => steps?.[0] ?? []);
    const limit = Math.min(...resumed);
    return { points, isKept: (place: number) => (points.steps?.[place] ?? Number.NEGATIVE_INFINITY) < limit };
  });
  const select = <T>(columnOf: (points: SeriesPoints) => readonly T[]) =>
    kept.flatMap(({ points, isKept }) => columnOf(points).filter((_, place) => isKept(place)));
  return {
    steps: ordered.every(({ steps }) => steps === null) ? null : select(({ steps }) => steps ?? []),
    times: select(({ times }) => times),
    values: select(({ values }) => values),
  };
}
