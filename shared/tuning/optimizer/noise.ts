import type { Hyperparameters } from './gaussian-process.ts';
import { keyOf } from './search-space.ts';
import type { TrialData } from './trial-data.ts';

/** The noise of targets with variance 1. With less noise, the best report is nearly as good as the best expectation. */
export const NOISE_VARIANCE_MIN = 0.01;

/** The reports of trials with the same values; NONE if no values were tried twice. */
export type Repeats = 'NONE' | 'EQUAL' | 'DIFFERENT';

export function compareRepeats({ points, costs, failed }: TrialData): Repeats {
  const costByKey = new Map<string, number | null>();
  let repeats: Repeats = 'NONE';
  const ended = points.map((point, index) => ({ point, cost: costs[index] ?? null }));
  for (const { point, cost } of [...ended, ...failed.map((point) => ({ point, cost: null }))]) {
    const key = keyOf(point);
    const before = costByKey.get(key);
    if (before !== undefined) {
      repeats = repeats === 'DIFFERENT' || before !== cost ? 'DIFFERENT' : 'EQUAL';
    }
    costByKey.set(key, cost);
  }
  return repeats;
}

/**
 * Whether trials with the same values report different objectives. The model alone can be wrong: a rough function looks
 * like a smooth one with noise, until two equal reports show that there is none.
 */
export function isNoisy({ noiseVariance }: Hyperparameters, repeats: Repeats): boolean {
  return repeats !== 'EQUAL' && noiseVariance > NOISE_VARIANCE_MIN;
}
