import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { createHalton } from '#shared/tuning/optimizer/random.ts';
import { pointFromSamples, readSearchSpace, valuesOf } from '#shared/tuning/optimizer/search-space.ts';
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Values } from '#shared/tuning/trial.ts';
import type { Problem } from './problems/problem.ts';

/** An optimizer in the middle of one run. */
export type Sampler = {
  ask(known: { finished: readonly FinishedTrial[]; pending: readonly Values[] }): Promise<Suggestion>;
  tell(values: Values, objective: number | null): Promise<void>;
};

/** With the CPU time that it took. */
export type Suggestion = { readonly values: Values; readonly ms: number };

export type SamplerName = (typeof SAMPLER_NAMES)[number];
export const SAMPLER_NAMES = ['dropforge', 'random', 'halton', 'tpe', 'tpe-multivariate', 'gpsampler'] as const;

export type RunOptions = { readonly problem: Problem; readonly seed: number; readonly parallel: number };

/** Starts runs of all samplers; `python` is an interpreter with Optuna. */
export function createSamplers(python: string | undefined) {
  const optuna = python === undefined ? null : startOptuna(python);
  return {
    async start(name: SamplerName, options: RunOptions): Promise<Sampler> {
      switch (name) {
        case 'dropforge':
          return createDropforge(options, 'BAYESIAN');
        case 'random':
          return createDropforge(options, 'RANDOM');
        case 'halton':
          return createHaltonSampler(options);
        default:
          if (optuna === null) {
            throw new Error(`TUNING_PYTHON must be a Python with optuna, scipy and torch to run ${name}.`);
          }
          return await optuna.start(name, options);
      }
    },
    async stop() {
      await optuna?.stop();
    },
  };
}

function createDropforge({ problem, seed }: RunOptions, algorithm: 'BAYESIAN' | 'RANDOM'): Sampler {
  let ordinal = 0;
  return {
    async ask({ finished, pending }) {
      const { parameters } = problem;
      const start = process.cpuUsage();
      const request = {
        parameters,
        algorithm,
        finished,
        pending,
        ordinal,
        goal: 'MINIMIZE',
        seed: `bench-${seed}`,
      } as const;
      const [values = {}] = suggest(request, 1);
      const { user, system } = process.cpuUsage(start);
      ordinal += 1;
      return { values, ms: (user + system) / 1_000 };
    },
    async tell() {},
  };
}

function createHaltonSampler({ problem, seed }: RunOptions): Sampler {
  const space = readSearchSpace(problem.parameters);
  const halton = createHalton(space.dimensions.length, `bench-${seed}`);
  let ordinal = 0;
  return {
    async ask() {
      ordinal += 1;
      return { values: valuesOf(space, pointFromSamples(space, halton(ordinal))), ms: 0 };
    },
    async tell() {},
  };
}

const answerSchema = z.object({
  trial: z.number().default(-1),
  values: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  ms: z.number().default(0),
});

function startOptuna(python: string) {
  const script = new URL('optuna_sampler.py', import.meta.url).pathname;
  const child: ChildProcess = spawn(python, ['-B', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) {
    throw new Error('The pipes of the Python process are missing.');
  }
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const send = async (request: object) => {
    stdin.write(`${JSON.stringify(request)}\n`);
    const { value } = await lines.next();
    if (value === undefined) {
      throw new Error(`${python} ${script} has ended: its error is above.`);
    }
    return answerSchema.parse(JSON.parse(value));
  };
  return {
    async start(sampler: SamplerName, { problem, seed, parallel }: RunOptions): Promise<Sampler> {
      const trials = new Map<Values, number>();
      await send({ op: 'start', sampler, seed, parallel, parameters: problem.parameters });
      return {
        async ask() {
          const { trial, values, ms } = await send({ op: 'ask' });
          trials.set(values, trial);
          return { values, ms };
        },
        async tell(values, objective) {
          await send({ op: 'tell', trial: trials.get(values), objective });
        },
      };
    },
    async stop() {
      const closed = once(child, 'close');
      stdin.end();
      await closed;
    },
  };
}
