import { describe, expect, it } from 'vitest';
import { defaultAxes, frontPoints } from '#dashboard/screens/job/tuning/front-points.ts';
import { trialOf, tuningOf } from '../../support/cli/test-cloud.ts';

const tuning = tuningOf({
  objectives: [
    { metricId: 'accuracy', goal: 'MAXIMIZE' },
    { metricId: 'latency', goal: 'MINIMIZE' },
  ],
});
const trial = (id: string, accuracy: number, latency: number | null) =>
  trialOf(id, { objective: accuracy, objectives: { accuracy, latency } });

describe('the plane of two objectives', () => {
  it('has the second one to the right, and is nothing with one objective', () => {
    expect(defaultAxes(tuning)).toEqual({ x: 'latency', y: 'accuracy' });
    expect(defaultAxes(tuningOf())).toBeNull();
  });

  it('has trials from left to right, of which those are optimal that no other one dominates', () => {
    const trials = [trial('1', 0.9, 30), trial('2', 0.8, 10), trial('3', 0.7, 20), trial('4', 0.99, null)];
    const points = frontPoints(trials, tuning, { x: 'latency', y: 'accuracy' });
    expect(points.map(({ trial: { trialId }, isOptimal }) => [trialId, isOptimal])).toEqual([
      ['2', true],
      ['3', false],
      ['1', true],
    ]);
  });

  it('leaves out trials that have not succeeded', () => {
    const running = { ...trial('1', 0.9, 30), state: 'ACTIVE' } as const;
    expect(frontPoints([running], tuning, { x: 'latency', y: 'accuracy' })).toEqual([]);
  });
});
