import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { EarlyStopping, Study } from '#shared/domain/study.ts';
import { appendMeasurements } from '#shared/tuning/curve.ts';
import { createRandom, type Random } from '#shared/tuning/optimizer/random.ts';
import { recordRung, rungStepsOf, rungsCrossed } from '#shared/tuning/stopping/asha.ts';
import { isBehindBar, medianBarOf, usesMedianRule } from '#shared/tuning/stopping/median-rule.ts';
import type { Curve } from '#shared/tuning/trial.ts';
import type { MedianBar, Rung } from '#shared/tuning/tuning.ts';
import type { BenchRow } from './bench-row.ts';

const STUDIES = 60;
const TRIALS = 40;
const PARALLEL = 5;
/** Share of the trials that are near the best one so far, as an optimizer's are. */
const SEARCHING = 0.7;

/** Learning curves of real training at every point of a grid, and the sizes of the grid's axes. */
type Table = {
  readonly name: string;
  readonly curves: readonly (readonly number[])[];
  readonly sizes: readonly number[];
};

/** Goals that were set before the first measurement. */
const RULES: Readonly<Record<string, { readonly earlyStopping: EarlyStopping; readonly regretMax: number }>> = {
  'median rule': { earlyStopping: { rule: 'MEDIAN', usesElapsedTime: false }, regretMax: 0.005 },
  ASHA: { earlyStopping: { rule: 'ASHA' }, regretMax: 0.02 },
};

/**
 * Measures the training that early stopping saves, and what it costs: the regret of the best trial, where 0 is the best
 * of the table and 1 its median. Studies of 40 trials, five at a time, by the rules as they run in heartbeats.
 */
export async function* benchEarlyStopping(): AsyncGenerator<BenchRow> {
  const tables = [readTable('mlp-digits', 'error'), readTable('boosting-cancer', 'loss')];
  for (const table of tables) {
    yield* compareRules(table, 0);
    yield* compareRules(table, SEARCHING);
  }
}

function* compareRules(table: Table, searching: number): Generator<BenchRow> {
  const without = measure(table, null, searching);
  for (const [name, { earlyStopping, regretMax }] of Object.entries(RULES)) {
    const { regret, saved } = measure(table, earlyStopping, searching);
    yield {
      name: `early stopping, ${name}: ${table.name}, trials ${searching > 0 ? 'near the best' : 'at random'}`,
      measured: `${(100 * saved).toFixed(0)} % saved, regret ${regret.toFixed(4)}`,
      floor: `none saved, regret ${without.regret.toFixed(4)}`,
      ratio: 1 - saved,
      goal: `>= 20 % saved, regret <= +${regretMax}`,
      isMet: saved >= 0.2 && regret <= without.regret + regretMax,
    };
  }
}

function measure(table: Table, earlyStopping: EarlyStopping | null, searching: number) {
  const runs = Array.from({ length: STUDIES }, (_, seed) =>
    runStudy(table, studyOf(earlyStopping), { seed, searching }),
  );
  const ends = table.curves.map((curve) => curve.at(-1) ?? 0).sort((a, b) => a - b);
  const [best = 0, median = 1] = [ends[0], ends[Math.floor(ends.length / 2)]];
  const regrets = runs.map((run) => (run.best - best) / (median - best));
  return { regret: mean(regrets), saved: 1 - mean(runs.map(({ work }) => work)) };
}

type Running = { readonly index: number; readonly ordinal: number; curve: Curve };

/** One step of each running trial in turn. Returns the final value of the best trial, and the share of the work done. */
function runStudy(
  table: Table,
  study: Study,
  { seed, searching }: { readonly seed: number; readonly searching: number },
) {
  const random = createRandom(`${table.name}/${seed}`);
  const completed: Curve[] = [];
  const length = table.curves[0]?.length ?? 0;
  const stopping = createStopping(study, length);
  let running: Running[] = [];
  let [started, work, best, bestIndex] = [0, 0, Number.POSITIVE_INFINITY, -1];
  while (started < TRIALS || running.length > 0) {
    for (; running.length < PARALLEL && started < TRIALS; started += 1) {
      const isNear = bestIndex >= 0 && random() < searching;
      const drawn = Math.floor(random() * table.curves.length);
      const index = isNear ? neighborOf(table, neighborOf(table, bestIndex, random), random) : drawn;
      running.push({ index, ordinal: started + 1, curve: emptyCurve(started + 1) });
    }
    const left: Running[] = [];
    for (const trial of running) {
      const isStopped = advance(trial, table, stopping);
      work += 1;
      const isOver = trial.curve.points.at(-1)?.step === length;
      if (!isOver && !isStopped) {
        left.push(trial);
        continue;
      }
      const last = Number(trial.curve.points.at(-1)?.values.loss);
      [best, bestIndex] = last < best ? [last, trial.index] : [best, bestIndex];
      if (isOver) {
        completed.push(trial.curve);
        stopping.complete(completed);
      }
    }
    running = left;
  }
  return { best, work: work / (TRIALS * length) };
}

/** Reports the trial's next step. Returns whether it is stopped. */
function advance(trial: Running, { curves }: Table, stopping: ReturnType<typeof createStopping>): boolean {
  const before = trial.curve;
  const step = before.points.length + 1;
  const loss = curves[trial.index]?.[step - 1] ?? 0;
  const measurements = [{ step, elapsedMs: step, values: { loss } }];
  trial.curve = appendMeasurements(before, { ...before, ranMs: 0, measurements });
  return stopping.isStopped(before, trial.curve);
}

/** The state that a tuning keeps for its rule; `stepsMax` is the number that the trials announce. */
function createStopping(study: Study, stepsMax: number) {
  let bar: MedianBar | null = null;
  let longestStep: number | null = null;
  let rungs: readonly Rung[] = [];
  return {
    complete(curves: readonly Curve[]): void {
      longestStep = Math.max(longestStep ?? 0, curves.at(-1)?.points.at(-1)?.step ?? 0);
      bar = usesMedianRule(study) ? medianBarOf(curves, study) : null;
    },
    isStopped(before: Curve, after: Curve): boolean {
      if (study.earlyStopping?.rule !== 'ASHA') {
        return bar !== null && isBehindBar(after, bar, { study, longestStep });
      }
      return rungsCrossed(before, after, { study, rungSteps: rungStepsOf(longestStep ?? stepsMax, rungs) }).some(
        (crossed) => {
          const recorded = recordRung(rungs, crossed);
          rungs = recorded.rungs;
          return !recorded.isKept;
        },
      );
    },
  };
}

function emptyCurve(ordinal: number): Curve {
  return { tuningId: 'bench', ordinal, attempt: 1, points: [] };
}

function studyOf(earlyStopping: EarlyStopping | null): Study {
  return {
    metrics: [{ id: 'loss', goal: 'MINIMIZE', safety: null }],
    algorithm: 'RANDOM',
    trialsMax: TRIALS,
    parallelTrialsMax: PARALLEL,
    failedTrialsMax: null,
    earlyStopping,
    stoppingConditions: null,
    measurement: 'LAST',
    parameters: [],
    resumeJobId: null,
    maxCostUsd: null,
  };
}

/** A point of the grid one step away along one axis. */
function neighborOf({ sizes }: Table, index: number, random: Random): number {
  const axis = Math.floor(random() * sizes.length);
  const size = sizes[axis] ?? 1;
  // Number of points between neighbors along this axis.
  const stride = sizes.slice(axis + 1).reduce((product, one) => product * one, 1);
  const place = Math.floor(index / stride) % size;
  const moved = Math.min(size - 1, Math.max(0, place + (random() < 0.5 ? -1 : 1)));
  return index + (moved - place) * stride;
}

/** Curves, or lists of what is at each point of an axis. */
type Grid = readonly number[] | readonly Grid[];
const gridSchema: z.ZodType<Grid> = z.lazy(() => z.union([z.array(z.number()), z.array(gridSchema)]));

function readTable(name: string, key: string): Table {
  const text = readFileSync(join(import.meta.dirname, 'fixtures', `${name}.json`), 'utf8');
  const grid = gridSchema.parse(z.record(z.string(), z.unknown()).parse(JSON.parse(text))[key]);
  return { name, curves: curvesOf(grid), sizes: sizesOf(grid) };
}

function isCurve(grid: Grid): grid is readonly number[] {
  return typeof grid[0] === 'number';
}

function curvesOf(grid: Grid): readonly (readonly number[])[] {
  return isCurve(grid) ? [grid] : grid.flatMap(curvesOf);
}

function sizesOf(grid: Grid): readonly number[] {
  return isCurve(grid) ? [] : [grid.length, ...sizesOf(grid[0] ?? [0])];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
