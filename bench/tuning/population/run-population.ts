import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Parameter, Study } from '#shared/domain/study.ts';
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import { chooseGeneration } from '#shared/tuning/population/choose-generation.ts';
import type { Lineage, Trial, Values } from '#shared/tuning/trial.ts';
import { real } from '../problems/problem.ts';

/** Members of the population, its generations, and the epochs of one: as many in all as of the random search. */
export const POPULATION = { members: 8, generations: 8, epochs: 2 } as const;

const TRAINER_DIR = new URL('../../../examples/digits', import.meta.url).pathname;

const PARAMETERS: readonly Parameter[] = [real('learning-rate', [0.003, 1], 'LOG'), real('momentum', [0.5, 0.98])];

const METRICS: Study['metrics'] = [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }];

/** Of the best trial: the accuracy by which it was chosen, and that on digits which chose nothing. */
export type Accuracies = { readonly validation: number; readonly test: number };

type Training = { readonly values: Values; readonly folder: string; readonly epochs: number; readonly seed: number };

const metricsSchema = z.object({ accuracy: z.number(), test_accuracy: z.number() });

async function train({ values, folder, epochs, seed }: Training, generation: number | null): Promise<Accuracies> {
  const named = Object.entries(values).map(([name, value]) => `--${name}=${value}`);
  const fixed = ['--optimizer=momentum', '--validate', `--epochs=${epochs}`, `--seed=${seed}`];
  const env = { ...process.env, ...(generation !== null && { DROPFORGE_GENERATION: String(generation) }) };
  const args = ['-m', 'trainer.task', `--job-dir=${folder}`, ...fixed, ...named];
  await promisify(execFile)('python3', args, { cwd: TRAINER_DIR, env });
  const metrics = metricsSchema.parse(JSON.parse(await readFile(join(folder, 'metrics.json'), 'utf8')));
  return { validation: metrics.accuracy, test: metrics.test_accuracy };
}

const bestOf = (all: readonly Accuracies[]): Accuracies =>
  all.reduce((best, each) => (each.validation > best.validation ? each : best));

/** Random trials that train as long as the members of the population. */
export async function runRandom(seed: number): Promise<Accuracies> {
  const { members, generations, epochs } = POPULATION;
  const root = await mkdtemp(join(tmpdir(), 'dropforge-random-'));
  const request = { parameters: PARAMETERS, goal: 'MAXIMIZE', algorithm: 'RANDOM', finished: [], pending: [] } as const;
  const found: Accuracies[] = [];
  for (const [index, values] of suggest({ ...request, ordinal: 0, seed: `population-${seed}` }, members).entries()) {
    found.push(await train({ values, folder: join(root, String(index)), epochs: generations * epochs, seed }, null));
  }
  await rm(root, { recursive: true });
  return bestOf(found);
}

/** A population whose members end one after another, each generation from the outputs of its parent. */
export async function runPopulation(seed: number): Promise<Accuracies> {
  const { members, generations, epochs } = POPULATION;
  const root = await mkdtemp(join(tmpdir(), 'dropforge-population-'));
  const study = { parameters: PARAMETERS, metrics: METRICS, parallelTrialsMax: members };
  const trials: Trial[] = [];
  const found: Accuracies[] = [];
  while (trials.length < members * generations) {
    const from = trials.length + 1;
    for (const [index, { values, lineage }] of chooseGeneration(
      { study, trials, from, seed: `population-${seed}` },
      members,
    ).entries()) {
      const ordinal = from + index;
      const folder = join(root, String(ordinal));
      if (lineage.parent !== null) {
        await cp(join(root, String(lineage.parent)), folder, { recursive: true });
      }
      const accuracies = await train({ values, folder, epochs, seed }, lineage.generation);
      found.push(accuracies);
      trials.push(trialOf({ ordinal, values, lineage }, accuracies.validation));
    }
  }
  await rm(root, { recursive: true });
  return bestOf(found);
}

function trialOf(chosen: { ordinal: number; values: Values; lineage: Lineage }, accuracy: number): Trial {
  const final = { step: 1, elapsedMs: 1, values: { accuracy } };
  const times = { chosenAt: 0, startedAt: 0, endedAt: 0, costUsd: null };
  const outcome = {
    kind: 'SUCCEEDED',
    objective: accuracy,
    furtherObjectives: [],
    final,
    isStoppedEarly: false,
  } as const;
  return {
    ...chosen,
    tuningId: 'population',
    jobId: `population_trial_${chosen.ordinal}`,
    repeats: null,
    ...times,
    outcome,
  };
}
