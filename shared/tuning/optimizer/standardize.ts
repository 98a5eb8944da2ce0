/** Costs as the model sees them, and the way back for values that are not drawn in. */
export type Standardized = {
  readonly targets: Float64Array;
  /** The cost of a target; approximate for targets of the worse half. */
  costOf(target: number): number;
};

/**
 * Scales costs to mean 0 and variance 1 and draws in the worse half: how bad bad trials are says nothing about the
 * optimum, and one that diverged must not make all others look equal (after Vizier's half-rank warping).
 */
export function standardize(costs: readonly number[]): Standardized {
  // Costs of 1e300 would overflow when they are squared.
  const unit = costs.reduce((max, cost) => Math.max(max, Math.abs(cost)), 0) || 1;
  const scaled = costs.map((cost) => cost / unit);
  const sorted = scaled.toSorted((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  const better = sorted.filter((cost) => cost <= median);
  const spread = Math.sqrt(better.reduce((sum, cost) => sum + (cost - median) ** 2, 0) / better.length) || 1;
  const ranks = new Map(sorted.map((cost, index) => [cost, index]).toReversed() as [number, number][]);
  const warped = Float64Array.from(scaled, (cost) => {
    const offset = (cost - median) / spread;
    const rank = ((ranks.get(cost) ?? 0) + 0.5) / sorted.length;
    return offset <= 0 ? offset : Math.min(offset, Math.max(0, normalQuantile(rank)) * 1.5);
  });
  const mean = warped.reduce((sum, value) => sum + value, 0) / warped.length;
  const deviation = Math.sqrt(warped.reduce((sum, value) => sum + (value - mean) ** 2, 0) / warped.length) || 1;
  return {
    targets: warped.map((value) => (value - mean) / deviation),
    costOf: (target) => (median + spread * (target * deviation + mean)) * unit,
  };
}

/** Tukey's lambda approximation; its error is below 0.02. */
function normalQuantile(share: number): number {
  return ((share ** 0.14 - (1 - share) ** 0.14) * 4.91) / 0.9961;
}
