import type { Study } from '#shared/domain/study.ts';
import { lowestOf, minimizedPointsOf } from '#shared/tuning/stopping/minimized-points.ts';
import type { Curve } from '#shared/tuning/trial.ts';
import type { Rung } from '#shared/tuning/tuning.ts';

/** One in ETA trials goes on at each rung. */
const ETA = 3;

/** Shares of the full length at which trials are compared. At a ninth, few curves still cross (`npm run bench`). */
const RUNG_FRACTIONS = [1 / ETA ** 2, 1 / ETA];

/** Trials give the same length in slightly different steps: steps from 0 or from 1, an announced length, a measured one. */
const RUNG_TOLERANCE = 4 / 3;

/** Rungs of a tuning whose trials announce different lengths. Further ones are ignored. */
export const RUNGS_MAX = 4;

/** Exact for the first 750 trials; after that, a rung is passed by the best 250 only. */
export const RUNG_VALUES_MAX = 250;

/**
 * The steps of the rungs of asynchronous successive halving (Li et al., "A System for Massively Parallel Hyperparameter
 * Tuning", MLSys 2020) in the form that only stops trials: none waits to be promoted. `length` is the last step of the
 * longest completed trial or, before the first, the number of steps that a trial announces; rungs that are known are
 * used again. Empty if the length is unknown or too short to be divided.
 */
export function rungStepsOf(length: number | null, known: readonly Rung[] = []): readonly number[] {
  if (length === null || !(length > 1)) {
    return [];
  }
  const steps = RUNG_FRACTIONS.map((fraction) => Math.ceil(length * fraction)).flatMap((step) => {
    const near = known.find((rung) => isNear(rung.step, step))?.step;
    // A further rung would be ignored, and a program could report another one with every heartbeat.
    return near ?? (known.length < RUNGS_MAX ? step : []);
  });
  return [...new Set(steps)].filter((step) => step > 0 && step < length);
}

function isNear(known: number, step: number): boolean {
  return known <= step * RUNG_TOLERANCE && step <= known * RUNG_TOLERANCE;
}

/** A rung that a trial has passed, with the lowest value until then of what is minimized. */
export type CrossedRung = { readonly step: number; readonly value: number };

/** The rungs between the last points of two states of one curve, in increasing order. */
export function rungsCrossed(
  before: Curve | undefined,
  after: Curve,
  { study, rungSteps }: { readonly study: Study; readonly rungSteps: readonly number[] },
): readonly CrossedRung[] {
  const points = minimizedPointsOf(after, study);
  const from = before === undefined ? undefined : minimizedPointsOf(before, study).at(-1)?.at;
  return rungSteps
    .toSorted((a, b) => a - b)
    .filter((step) => (from ?? Number.NEGATIVE_INFINITY) < step && points.some(({ at }) => at >= step))
    .map((step) => {
      const reachedAt = points.find(({ at }) => at >= step)?.at ?? step;
      const value = lowestOf(points.filter(({ at }) => at <= reachedAt));
      // The lowest value is infinite if the trial has reported no finite one. JSON has no infinity; no number is worse.
      return { step, value: Math.min(value, Number.MAX_VALUE) };
    });
}

/** Adds a trial to its rung. `isKept`: it is among the best third of those that have reached the rung so far. */
export function recordRung(
  rungs: readonly Rung[],
  { step, value }: CrossedRung,
): { readonly rungs: readonly Rung[]; readonly isKept: boolean } {
  const rung = rungs.find((one) => one.step === step) ?? { step, reachedCount: 0, best: [] };
  const others = rungs.filter((one) => one.step !== step);
  if (rung.reachedCount === 0 && others.length >= RUNGS_MAX) {
    return { rungs, isKept: true };
  }
  const betterCount = rung.best.filter((one) => one < value).length;
  const reachedCount = rung.reachedCount + 1;
  const best = [...rung.best.slice(0, betterCount), value, ...rung.best.slice(betterCount)].slice(0, RUNG_VALUES_MAX);
  return {
    rungs: [...others, { step, reachedCount, best }].sort((a, b) => a.step - b.step),
    // The first two have nothing to be compared with.
    isKept:
      reachedCount < ETA || (betterCount <= Math.floor((reachedCount - 1) / ETA) && betterCount < RUNG_VALUES_MAX),
  };
}
