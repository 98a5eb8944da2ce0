import { describe, expect, it } from 'vitest';
import { scalarize, weightsAt } from '#shared/tuning/optimizer/scalarize.ts';
import { type SuggestRequest, suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Values } from '#shared/tuning/trial.ts';

/** Schaffer's first problem, whose second objective is negated: the front is x from 0 to 2. */
const REQUEST: SuggestRequest = {
  parameters: [{ id: 'x', space: { kind: 'DOUBLE', min: -10, max: 10 }, scale: 'LINEAR', children: [] }],
  goal: 'MINIMIZE',
  furtherGoals: ['MAXIMIZE'],
  algorithm: 'BAYESIAN',
  finished: [],
  pending: [],
  ordinal: 0,
  seed: 'front',
};

function trialOf(values: Values): FinishedTrial {
  const x = Number(values.x);
  return { values, objective: x ** 2, furtherObjectives: [-((x - 2) ** 2)] };
}

function search(count: number): readonly FinishedTrial[] {
  const finished: FinishedTrial[] = [];
  for (let ordinal = 0; ordinal < count; ordinal += 1) {
    finished.push(...suggest({ ...REQUEST, finished, ordinal }, 1).map(trialOf));
  }
  return finished;
}

describe('suggestions with several objectives', () => {
  it('cover the front: many of the later trials lie on it, and some near both of its ends and in its middle', () => {
    const found = search(30).map(({ values }) => Number(values.x));
    const onFront = found.slice(10).filter((x) => x > -0.1 && x < 2.1);
    expect(onFront.length).toBeGreaterThan(8);
    for (const part of [0.2, 1, 1.8]) {
      expect(found.some((x) => Math.abs(x - part) < 0.3)).toBe(true);
    }
  });

  it('are the same for the same results, and distinct within one request', () => {
    const finished = search(12);
    const request = { ...REQUEST, finished, ordinal: 12 };
    expect(suggest(request, 30)).toEqual(suggest(request, 30));
    expect(new Set(suggest(request, 30).map(({ x }) => x)).size).toBe(30);
  });

  it('count a trial without all of them as failed', () => {
    const incomplete = { values: { x: 1 }, objective: 1, furtherObjectives: [] };
    const [scaled] = scalarize([incomplete], { goals: ['MINIMIZE', 'MAXIMIZE'], weights: [0.5, 0.5] });
    expect(scaled).toEqual({ values: { x: 1 }, objective: null });
  });
});

describe('weights', () => {
  it('are positive and add up to 1, and favor each objective in turn', () => {
    const all = Array.from({ length: 60 }, (_, ordinal) => weightsAt(ordinal, 3, 'seed'));
    for (const weights of all) {
      expect(weights.every((weight) => weight > 0)).toBe(true);
      expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1);
    }
    for (const objective of [0, 1, 2]) {
      expect(all.some((weights) => (weights[objective] ?? 0) > 0.8)).toBe(true);
    }
  });
});
