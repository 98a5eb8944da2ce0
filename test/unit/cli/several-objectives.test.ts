import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli, startTestCloud, type TestCloud, trialOf, tuningOf, viewOf } from '../../support/cli/test-cloud.ts';

const OBJECTIVES = [
  { metricId: 'accuracy', goal: 'MAXIMIZE' as const },
  { metricId: 'latency', goal: 'MINIMIZE' as const },
];

function trialWith(id: string, accuracy: number, latency: number) {
  return trialOf(id, { objective: accuracy, objectives: { accuracy, latency } });
}

const TRIALS = [trialWith('1', 0.9, 12), trialWith('2', 0.95, 14), trialWith('3', 0.8, 13), trialWith('4', 0.7, 2)];
const TUNING = tuningOf({
  objectives: OBJECTIVES,
  endedTrialCount: 4,
  optimal: { count: 3, trials: [TRIALS[1], TRIALS[0], TRIALS[3]].flatMap((trial) => trial ?? []) },
});

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
  cloud.jobs.set('search', [viewOf('search', { tuning: TUNING, state: 'SUCCEEDED' })]);
  cloud.trials.push(...TRIALS);
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: cloud.dataDir });

describe('a tuning with several objectives in the CLI', () => {
  it('lists the optimal trials first, with a column per objective', async () => {
    const { stdout } = await cli('trials', 'search');
    const [head = '', ...lines] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/accuracy\s+latency\s+STEP/);
    expect(lines.map((line) => line.split(/\s/)[0])).toEqual(['2', '1', '4', '3']);
    expect(lines.filter((line) => line.includes('optimal'))).toHaveLength(3);
    const byLatency = (await cli('trials', 'search', '--sort-by=latency')).stdout.trimEnd().split('\n').slice(1);
    expect(byLatency.map((line) => line.split(/\s/)[0])).toEqual(['4', '1', '3', '2']);
  });

  it('is described with its goals and its optimal trials', async () => {
    const { stdout } = await cli('jobs', 'describe', 'search');
    expect(stdout).toContain('maximizes accuracy and minimizes latency by Bayesian optimization');
    expect(stdout).toContain('trials 2, 1, 4');
    expect(stdout).toContain('Optimal trials first');
    expect((await cli('jobs', 'list')).stdout).toContain('4 of 40 trials  optimal trials 3');
  });

  it('has its optimal trials in Vertex AI’s form', async () => {
    const { stdout } = await cli('hp-tuning-jobs', 'describe', 'search', '--format=json');
    const { optimalTrials, trials } = JSON.parse(stdout);
    expect(optimalTrials.map(({ id }: { id: string }) => id)).toEqual(['2', '1', '4']);
    expect(trials[0].finalMeasurement.metrics).toEqual([
      { metricId: 'accuracy', value: 0.95 },
      { metricId: 'latency', value: 14 },
    ]);
  });
});
