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
  // Halves, because the difference of two large costs can overflow.
  const halves = costs.map((cost) => cost / 2);
  const sorted = halves.toSorted((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  const spread = rootMeanSquare(sorted.filter((half) => half <= median).map((half) => half - median));
  const ranks = new Map([...sorted.entries()].toReversed().map(([index, half]) => [half, index]));
  const warped = Float64Array.from(halves, (half) => {
    const offset = (half - median) / spread;
    const rank = ((ranks.get(half) ?? 0) + 0.5) / sorted.length;
    return offset <= 0 ? offset : Math.min(offset, Math.max(0, normalQuantile(rank)) * 1.5);
  });
  const mean = warped.reduce((sum, value) => sum + value, 0) / warped.length;
  const deviation = rootMeanSquare([...warped].map((value) => value - mean));
  return {
    targets: warped.map((value) => (value - mean) / deviation),
    costOf: (target) => 2 * (median + spread * (target * deviation + mean)),
  };
}

/** The root mean square of numbers of any magnitude; 1 if all of them are 0. */
function rootMeanSquare(values: readonly number[]): number {
  const largest = values.reduce((max, value) => Math.max(max, Math.abs(value)), 0) || 1;
  return largest * Math.sqrt(values.reduce((sum, value) => sum + (value / largest) ** 2, 0) / values.length) || 1;
}

/** Tukey's lambda approximation; its error is below 0.02. */
function normalQuantile(share: number): number {
  return ((share ** 0.14 - (1 - share) ** 0.14) * 4.91) / 0.9961;
}
