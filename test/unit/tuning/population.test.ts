import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Parameter, Study } from '#shared/domain/study.ts';
import { createRandom } from '#shared/tuning/optimizer/random.ts';
import { chooseGeneration } from '#shared/tuning/population/choose-generation.ts';
import { draw, explore } from '#shared/tuning/population/explore.ts';
import type { Lineage, Trial } from '#shared/tuning/trial.ts';
import { trialRefOf } from '#shared/tuning/trial-job.ts';
import { runningTrial, STUDY, searchingTuning, succeededTrial } from '../../support/domain/example-tuning.ts';
import { accept, TuningRun } from '../../support/domain/tuning-run.ts';
import { anySpaces, areValid, parameterTrees } from './optimizer/parameter-arbitrary.ts';

const SIZE = 5;
const POPULATION: Study = { ...STUDY, algorithm: 'POPULATION_BASED', parallelTrialsMax: SIZE, trialsMax: 20 };
const founderOf = (member: number): Lineage => ({ member, generation: 1, parent: null });

/** The first generation: member N has the ordinal N and this accuracy. */
function founders(...accuracies: readonly number[]): readonly Trial[] {
  return accuracies.map((accuracy, index) =>
    succeededTrial(index + 1, accuracy, { lineage: founderOf(index + 1), values: { rate: 0.1 + index / 100 } }),
  );
}

const choose = (trials: readonly Trial[], count = SIZE, study = POPULATION) =>
  chooseGeneration({ study, trials, from: trials.length + 1, seed: 'digits' }, count);

describe('the next generation of a population', () => {
  it('begins with values drawn for each member, which start from scratch', () => {
    const chosen = choose([]);
    expect(chosen.map(({ lineage }) => lineage)).toEqual([1, 2, 3, 4, 5].map(founderOf));
    expect(new Set(chosen.map(({ values }) => values.rate)).size).toBe(SIZE);
  });

  it('has each member go on from its own outputs with its values, and the worst from the best with others', () => {
    const chosen = choose(founders(0.5, 0.9, 0.1, 0.7, 0.6));
    expect(chosen.map(({ lineage }) => lineage.parent)).toEqual([1, 2, 2, 4, 5]);
    expect(chosen.map(({ lineage }) => lineage.generation)).toEqual([2, 2, 2, 2, 2]);
    expect(chosen.filter((_, index) => index !== 2).map(({ values }) => values.rate)).toEqual([0.1, 0.11, 0.13, 0.14]);
    expect(chosen[2]?.values.rate).not.toBe(0.11);
  });

  it('has the worst of a metric that is minimized go on from the lowest', () => {
    const metrics: Study['metrics'] = [{ id: 'loss', goal: 'MINIMIZE', safety: null }];
    const chosen = choose(founders(0.5, 0.9, 0.1, 0.7, 0.6), SIZE, { ...POPULATION, metrics });
    expect(chosen.map(({ lineage }) => lineage.parent)).toEqual([1, 3, 3, 4, 5]);
  });

  it('replaces a member whose trial has failed, also if all others still run', () => {
    const failed = runningTrial(3, {
      lineage: founderOf(3),
      outcome: { kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: 'It was NaN.' },
    });
    const others = founders(0.5, 0.9).concat(
      [4, 5].map((ordinal) => runningTrial(ordinal, { lineage: founderOf(ordinal) })),
    );
    const chosen = choose([...others, failed]);
    expect(chosen.map(({ lineage }) => [lineage.member, lineage.parent])).toEqual([
      [1, 1],
      [2, 2],
      [3, 2],
    ]);
    const alone = [1, 2, 4, 5].map((ordinal) => runningTrial(ordinal, { lineage: founderOf(ordinal) }));
    expect(choose([...alone, failed])).toMatchObject([{ lineage: founderOf(3) }]);
  });

  it('waits for no other member, and gives no member two trials at once', () => {
    const [first = runningTrial(1)] = founders(0.5);
    const others = [2, 3, 4, 5].map((ordinal) => runningTrial(ordinal, { lineage: founderOf(ordinal) }));
    expect(choose([first, ...others])).toEqual([
      { values: first.values, lineage: { member: 1, generation: 2, parent: 1 } },
    ]);
    const repeated = runningTrial(6, { lineage: founderOf(1), repeats: 1 });
    expect(choose([first, ...others, repeated])).toEqual([]);
  });

  it('is that of the other members while one waits for its VM, which then catches up with the best', () => {
    const late = { lineage: founderOf(5), values: { rate: 0.5 } };
    let others = founders(0.5, 0.6, 0.7, 0.8);
    for (const from of [6, 10, 14]) {
      const chosen = choose([...others, runningTrial(5, late)]);
      expect(chosen.map(({ lineage }) => lineage.member).toSorted()).toEqual([1, 2, 3, 4]);
      others = others.concat(
        chosen.map((facts, index) => succeededTrial(from + index, 0.9 - facts.lineage.member / 10, facts)),
      );
    }
    const next = choose([...others, succeededTrial(5, 0.1, late)]).find(({ lineage }) => lineage.member === 5);
    expect(next?.lineage).toEqual({ member: 5, generation: 5, parent: 14 });
  });

  it('is the same for the same trials', () => {
    const trials = founders(0.5, 0.9, 0.1, 0.7, 0.6);
    expect(choose(trials)).toEqual(choose(trials.toReversed()));
  });
});

describe('exploration', () => {
  it('remains within every space, and draws within it', () => {
    fc.assert(
      fc.property(parameterTrees(anySpaces), fc.string(), (parameters, seed) => {
        const random = createRandom(seed);
        let values = draw(parameters, random);
        for (let generation = 0; generation < 10; generation += 1) {
          expect(areValid(parameters, values)).toBe(true);
          values = explore(parameters, values, random);
        }
      }),
    );
  });

  it('changes numbers by a fifth, whole ones by at least 1, and listed ones to a neighbor', () => {
    const parameters: readonly Parameter[] = [
      { id: 'rate', space: { kind: 'DOUBLE', min: 1e-5, max: 1 }, scale: 'LOG', children: [] },
      { id: 'units', space: { kind: 'INTEGER', min: 1, max: 9 }, scale: 'NONE', children: [] },
      { id: 'batch', space: { kind: 'DISCRETE', values: [8, 16, 32] }, scale: 'NONE', children: [] },
    ];
    const seen = Array.from({ length: 200 }, (_, seed) =>
      explore(parameters, { rate: 0.01, units: 2, batch: 16 }, createRandom(`${seed}`)),
    );
    const shareOf = (matches: (values: (typeof seen)[number]) => boolean) => seen.filter(matches).length / seen.length;
    expect(shareOf(({ rate }) => rate === 0.008 || rate === 0.012)).toBeGreaterThan(0.6);
    expect(shareOf(({ units }) => units === 1 || units === 3)).toBeGreaterThan(0.6);
    expect(shareOf(({ batch }) => batch === 8 || batch === 32)).toBeGreaterThan(0.6);
  });
});

describe('a tuning with a population', () => {
  it('repeats a lost trial for the same member, from the same outputs', () => {
    const lineage: Lineage = { member: 2, generation: 3, parent: 7 };
    const outcome = { kind: 'LOST', cause: { code: 'STOCKOUT', message: 'None.', evidence: [] } } as const;
    const run = new TuningRun(accept({ algorithm: 'POPULATION_BASED' })).chosen(1_000);
    const next = run.closed(1, outcome, { at: 2_000, lineage });
    expect(next.last.trials).toMatchObject([
      { ordinal: 1, lineage },
      { ordinal: 3, repeats: 1, lineage },
    ]);
  });

  it('tells the job of a trial its generation, and the directory that it starts from', () => {
    const tuning = searchingTuning();
    const lineage: Lineage = { member: 2, generation: 3, parent: 7 };
    expect(trialRefOf(tuning, runningTrial(9, { lineage })).population).toEqual({
      generation: 3,
      startsFrom: `${tuning.spec.jobDir}/7`,
    });
    expect(trialRefOf(tuning, runningTrial(2, { lineage: founderOf(2) })).population).toEqual({
      generation: 1,
      startsFrom: null,
    });
  });
});
