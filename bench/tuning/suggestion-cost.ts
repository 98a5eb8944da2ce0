/** Prints the CPU time of suggestions in this process and its memory: node suggestion-cost.ts PROBLEM TRIALS */
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import { listProblems } from './problems/list-problems.ts';

const [, , name, trials] = process.argv;
const problem = listProblems().find((one) => one.name === name);
if (problem === undefined) {
  throw new Error(`${name} is not a problem of the benchmark.`);
}
const request = { parameters: problem.parameters, goal: 'MINIMIZE', pending: [], seed: 'cost' } as const;
const finished: FinishedTrial[] = Array.from({ length: Number(trials) }, (_, ordinal) => {
  const [values = {}] = suggest({ ...request, algorithm: 'RANDOM', finished: [], ordinal }, 1);
  return { values, objective: problem.truth(values) };
});
const milliseconds = Array.from({ length: 5 }, (_, index) => {
  const start = process.cpuUsage();
  suggest({ ...request, algorithm: 'BAYESIAN', finished, ordinal: finished.length + index }, 1);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
});
const memoryBytes = process.resourceUsage().maxRSS * 1_024;
process.stdout.write(JSON.stringify({ milliseconds, memoryBytes }));
