import { describe, expect, it } from 'vitest';
import { defaultAxes, frontPoints } from '#dashboard/screens/job/tuning/front-points.ts';
import { populationOf } from '#dashboard/screens/job/tuning/lineage.ts';
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

describe('a population', () => {
  const member = (id: string, own: number, parent: string | null = null) =>
    trialOf(id, { member: own, generation: parent === null ? 1 : 2, parent });

  it('has the trials of each member by generation, and whom a trial copied', () => {
    const trials = [member('1', 1), member('2', 2), member('3', 2, '1'), member('4', 1, '1')];
    const population = populationOf(trials);
    expect(population?.generations).toEqual([1, 2]);
    expect(population?.members.map((one) => one.member)).toEqual([1, 2]);
    const second = (index: number) => population?.members[index]?.trials.get(2)?.map(({ copied }) => copied);
    expect([second(0), second(1)]).toEqual([[null], [{ trialId: '1', member: 1 }]]);
  });

  it('has several trials of a member in a generation if one was lost and repeated', () => {
    const trials = [member('1', 1), member('2', 1, '1'), member('3', 1, '1')];
    expect(populationOf(trials)?.members[0]?.trials.get(2)).toHaveLength(2);
  });

  it('is nothing for other tunings', () => {
    expect(populationOf([trialOf('1')])).toBeNull();
  });
});
