import { describe, expect, it } from 'vitest';
import { logExpectedImprovement, logSuccessProbability } from '#shared/tuning/optimizer/expected-improvement.ts';
import { fitHyperparameters } from '#shared/tuning/optimizer/fit-hyperparameters.ts';
import { conditionOn, type Hyperparameters } from '#shared/tuning/optimizer/gaussian-process.ts';
import { createRandom } from '#shared/tuning/optimizer/random.ts';

const random = createRandom('observations');
const POINTS = Array.from({ length: 40 }, () => Float64Array.of(random(), random(), Math.floor(3 * random())));
const truth = ([x = 0, y = 0, category = 0]: Float64Array) =>
  Math.sin(5 * x) + (y - 0.3) ** 2 + (category === 1 ? 1 : 0);
const OBSERVATIONS = {
  points: POINTS,
  targets: Float64Array.from(POINTS, truth),
  isCategory: [false, false, true],
};
const HYPERPARAMETERS: Hyperparameters = {
  precisions: Float64Array.of(4, 2, 1),
  signalVariance: 1.5,
  noiseVariance: 1e-3,
};
const ELSEWHERE = Float64Array.of(0.37, 0.61, 1);

describe('a Gaussian process', () => {
  it('predicts what it has observed, and is uncertain elsewhere', () => {
    const model = conditionOn(OBSERVATIONS, { ...HYPERPARAMETERS, noiseVariance: 1e-6 });
    for (const point of POINTS) {
      expect(model.predict(point).mean).toBeCloseTo(truth(point), 3);
      expect(model.predict(point).deviation).toBeLessThan(0.01);
    }
    const far = model.predict(Float64Array.of(9, 9, 2));
    expect(far.mean).toBeCloseTo(0, 1);
    expect(far.deviation).toBeCloseTo(Math.sqrt(1.5), 1);
  });

  it('predicts the same after one observation more as from all of them', () => {
    const all = conditionOn(OBSERVATIONS, HYPERPARAMETERS).predict(ELSEWHERE);
    const points = POINTS.slice(0, -1);
    const before = conditionOn(
      { ...OBSERVATIONS, points, targets: OBSERVATIONS.targets.slice(0, -1) },
      HYPERPARAMETERS,
    );
    const extended = before.observe(POINTS.at(-1) ?? ELSEWHERE, OBSERVATIONS.targets.at(-1) ?? 0).predict(ELSEWHERE);
    expect(extended.mean).toBeCloseTo(all.mean, 10);
    expect(extended.deviation).toBeCloseTo(all.deviation, 10);
  });

  it('has the slopes of its predictions', () => {
    const model = conditionOn(OBSERVATIONS, HYPERPARAMETERS);
    const { meanSlopes, deviationSlopes } = model.predictWithSlopes(ELSEWHERE);
    for (const dimension of [0, 1]) {
      const shift = (by: number) => model.predict(ELSEWHERE.with(dimension, (ELSEWHERE[dimension] ?? 0) + by));
      const [below, above] = [shift(-1e-5), shift(1e-5)];
      expect(meanSlopes[dimension]).toBeCloseTo((above.mean - below.mean) / 2e-5, 5);
      expect(deviationSlopes[dimension]).toBeCloseTo((above.deviation - below.deviation) / 2e-5, 5);
    }
  });

  it('learns that a dimension does not matter, and how large the noise is', () => {
    const noisy = createRandom('noise');
    const points = Array.from({ length: 80 }, () => Float64Array.of(noisy(), noisy()));
    const noiseless = Float64Array.from(points, ([x = 0]) => Math.sin(6 * x));
    const clean = fitHyperparameters({ points, targets: noiseless, isCategory: [false, false] });
    expect(clean.precisions[0]).toBeGreaterThan(100 * (clean.precisions[1] ?? 0));
    expect(clean.noiseVariance).toBeLessThan(1e-4);
    const targets = noiseless.map((target) => target + 0.6 * (noisy() + noisy() + noisy() - 1.5));
    const { noiseVariance } = fitHyperparameters({ points, targets, isCategory: [false, false] });
    expect(noiseVariance).toBeGreaterThan(0.04);
    expect(noiseVariance).toBeLessThan(0.2);
  });

  it('keeps finite predictions of points that were observed many times', () => {
    const point = Float64Array.of(0.5, 0.5, 0);
    const points = Array.from({ length: 50 }, () => point);
    const targets = Float64Array.from(points, (_, index) => (index % 2 === 0 ? 1 : -1));
    const observations = { points, targets, isCategory: [false, false, true] };
    const model = conditionOn(observations, fitHyperparameters(observations));
    expect(model.predict(point).mean).toBeCloseTo(0, 1);
    expect(Number.isFinite(model.predict(ELSEWHERE).deviation)).toBe(true);
  });
});

describe('the logarithm of the expected improvement', () => {
  it.each([3, 0.5, -1, -4.9, -5.1, -8])('has the right value and slopes at %s deviations below the best', (z) => {
    const prediction = { mean: -z * 0.7, deviation: 0.7 };
    const { value, perMean, perDeviation } = logExpectedImprovement(prediction, 0);
    // By numerical integration over the improvement.
    const integral = Array.from({ length: 200_000 }, (_, step) => {
      const improvement = (step + 0.5) * 5e-5 * Math.max(1, z + 6);
      const t = (improvement - z * 0.7) / 0.7;
      return ((improvement * Math.exp((-t * t) / 2)) / Math.sqrt(2 * Math.PI) / 0.7) * 5e-5 * Math.max(1, z + 6);
    }).reduce((sum, term) => sum + term, 0);
    expect(value).toBeCloseTo(Math.log(integral), 2);
    const slope = (change: { mean?: number; deviation?: number }) => {
      const [mean, deviation] = [prediction.mean + (change.mean ?? 0), prediction.deviation + (change.deviation ?? 0)];
      return logExpectedImprovement({ mean, deviation }, 0).value;
    };
    expect(perMean / ((slope({ mean: 1e-5 }) - slope({ mean: -1e-5 })) / 2e-5)).toBeCloseTo(1, 2);
    expect(perDeviation / ((slope({ deviation: 1e-5 }) - slope({ deviation: -1e-5 })) / 2e-5)).toBeCloseTo(1, 2);
  });

  it('is finite where an improvement is impossible', () => {
    expect(Number.isFinite(logExpectedImprovement({ mean: 1e3, deviation: 1e-5 }, 0).value)).toBe(true);
  });
});

describe('the probability of success', () => {
  it('rises with the prediction', () => {
    const values = [-2, -1, 0, 1, 2].map((mean) => logSuccessProbability({ mean, deviation: 0.5 }).value);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    expect(values[2]).toBeCloseTo(Math.log(0.5), 6);
  });
});
