import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli/test-cloud.ts';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

const CLI = fileURLToPath(new URL('../../cli/dropforge.js', import.meta.url));

/** Reports how close the rate is to 0.3; a conditional bonus improves it. */
const PROGRAM = `
import argparse, json, os, time
parser = argparse.ArgumentParser()
parser.add_argument('--rate', type=float)
parser.add_argument('--kind')
parser.add_argument('--bonus', type=int, default=0)
parser.add_argument('--sleep', type=float, default=0)
args = parser.parse_args()
print('rate', args.rate, 'kind', args.kind, 'bonus', args.bonus)
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    for step in range(1, 4):
        score = 1 - abs(args.rate - 0.3) + args.bonus / 100 - 1 / step
        file.write(json.dumps({'step': step, 'score': score}) + '\\\\n')
time.sleep(args.sleep)
`.replaceAll('\\\\', '\\');

const OWN = `
module: trainer.task
machine: n1-standard-4
maxRuntime: 10m
tune:
  metric: score
  trials: 5
  parallel: 2
  parameters:
    rate: { min: 0.01, max: 1, scale: log }
    kind: [plain, extra]
    bonus: { min: 1, max: 9, when: { kind: extra } }
`;

const VERTEX = `
studySpec:
  metrics: [{metricId: score, goal: MAXIMIZE}]
  parameters: [{parameterId: rate, doubleValueSpec: {minValue: 0.01, maxValue: 1}}]
trialJobSpec:
  workerPoolSpecs:
    - machineSpec: {machineType: n1-standard-4}
      replicaCount: 1
      pythonPackageSpec:
        executorImageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest
        packageUris: [trainer/task.py]
        pythonModule: task
        args: [--sleep, '60']
`;

let cloud: CloudUnderTest;
let work: string;
beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 500 }, vmsMax: 3 });
  work = await mkdtemp(join(tmpdir(), 'dropforge-tuning-'));
  await mkdir(join(work, 'trainer'));
  await writeFile(join(work, 'trainer', '__init__.py'), '');
  await writeFile(join(work, 'trainer', 'task.py'), PROGRAM);
  await writeFile(join(work, 'tune.yaml'), OWN);
  await writeFile(join(work, 'vertex.yaml'), VERTEX);
});
afterAll(async () => {
  await cloud.stop();
  await rm(work, { recursive: true });
});

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: work });

describe('a tuning that is submitted from the command line', () => {
  let followed: Awaited<ReturnType<typeof cli>>;
  beforeAll(async () => {
    followed = await cli(
      ...['jobs', 'submit', 'training', 'search', '--config=tune.yaml', '--package-path=trainer', '--stream-logs'],
    );
  });

  it('prints its plan with a price, and then a line for each trial', () => {
    const { code, stdout, stderr } = followed;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Tuning search: 5 trials, 2 at a time, to maximize score\.\n {2}rate: double from 0\.01 to 1, log scale\n(?: {2,4}.*\n){2} {2}At most \$0\.16: /,
    );
    expect(stdout).toContain('dropforge');
    expect(stdout.match(/^trial \d .*score -?[\d.]+ .*rate=[\d.]+ kind=(plain|extra bonus=\d) /gm)).toHaveLength(5);
    expect(stdout).toContain('← best so far');
    expect(stderr).toContain('Job search ended: SUCCEEDED.\n5 of 5 trials; best trial ');
  });

  it('is described with its best values, in text and in the shapes of both services', async () => {
    const { stdout } = await cli('jobs', 'describe', 'search');
    expect(stdout).toMatch(/^ {2}best {8}trial \d: score -?[\d.]+ at step 3$/m);
    const [job] = (await cli('jobs', 'describe', 'search', '--format=json')).json() as [
      { trainingOutput: { completedTrialCount: string; trials: { trialId: string; finalMetric: object }[] } },
    ];
    expect(job.trainingOutput.completedTrialCount).toBe('5');
    const [vertex] = (await cli('hp-tuning-jobs', 'describe', 'search', '--format=json')).json() as [
      { state: string; studySpec: { parameters: object[] }; trials: { id: string }[] },
    ];
    expect(vertex.state).toBe('JOB_STATE_SUCCEEDED');
    expect(vertex.studySpec.parameters).toHaveLength(2);
    expect(vertex.trials.map(({ id }) => id)).toEqual(job.trainingOutput.trials.map(({ trialId }) => trialId));
    expect(stdout).toContain(`trial ${vertex.trials[0]?.id}: score`);
  });

  it('has the log and the values of each trial', async () => {
    expect((await cli('jobs', 'stream-logs', 'search', '--trial', '2')).stdout).toMatch(
      / master-0 {2}rate 0\.\d+ kind/,
    );
    expect((await cli('trials', 'search', '2')).stdout).toMatch(/^Measurements\n.*\n {2}1 .*\n {2}2 .*\n {2}3 /m);
    expect((await cli('jobs', 'describe', 'search_trial_2')).stdout).toContain('2 of tuning search');
    expect((await cli('jobs', 'list')).stdout).toMatch(/^search .* 5 of 5 trials +best \S+ -?[\d.]+ /m);
  });

  it('has its best model where it says', async () => {
    const [line] =
      /npx dropforge .*cp -r (\S+) outputs/.exec((await cli('jobs', 'describe', 'search')).stdout)?.slice(1) ?? [];
    expect((await cli('ls', `${line}/`)).code).toBe(0);
  });

  it('exports CSV', async () => {
    await cli('trials', 'search', '--export=search.csv');
    expect((await readFile(join(work, 'search.csv'), 'utf8')).trim().split('\n')).toHaveLength(6);
  });
});

it('ends at its limit of the cost with what it has found', async () => {
  // A VM costs at least a minute, $0.0032.
  const { code, stderr } = await cli(
    ...['jobs', 'submit', 'training', 'cheap', '--config=tune.yaml', '--package-path=trainer', '--stream-logs'],
    '--max-cost=0.008',
  );
  expect(code).toBe(0);
  expect(stderr).toContain('ended early because the limit of the cost was reached; best trial');
  expect((await cli('jobs', 'describe', 'cheap')).stdout).toContain('stopped     the limit of the cost was reached');
});

it('runs with the flags of Vertex AI, and is cancelled with all of its trials', async () => {
  const flags = [
    '--display-name=Long search',
    '--config=vertex.yaml',
    '--max-trial-count=9',
    '--parallel-trial-count=2',
  ];
  const created = await cli('hp-tuning-jobs', 'create', '--region=us-central1', ...flags);
  expect(created).toMatchObject({ code: 0, stdout: expect.stringContaining('Job Long_search ACCEPTED') });
  await cloud.awaitJob('Long_search', ({ tuning }) => tuning?.counts.running === 2);
  expect((await cli('hp-tuning-jobs', 'list')).stdout).toMatch(/^Long_search +RUNNING .* 0 of 9 trials /m);
  expect((await cli('hp-tuning-jobs', 'describe', 'Long_search')).stdout).toContain('0 of 9 trials, 2 running');
  expect((await cli('hp-tuning-jobs', 'cancel', 'Long_search')).code).toBe(0);
  const waited = await cli('jobs', 'wait', 'Long_search', '--timeout=150');
  expect(waited).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Long_search {2}CANCELLED\n/) });
  expect(await cloud.listVms()).toEqual([]);
});

it('the demo finds better settings than the defaults of the example, and leaves nothing running', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-demo-'));
  try {
    const argv = [CLI, 'demo', '--tuning', '--format=json', '--data-dir', dataDir];
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string });
    const ended = events.at(-1) as unknown as {
      vms: unknown[];
      search: { state: string; tuning: { best: { objective: number } } };
      models: { plain: { testAccuracy: number }; best: { testAccuracy: number; modelFile: string } };
    };
    expect(ended.vms).toEqual([]);
    expect(ended.search.state).toBe('SUCCEEDED');
    expect(events.filter(({ event }) => event === 'trial')).toHaveLength(20);
    expect(ended.models.best.testAccuracy).toBeGreaterThan(ended.models.plain.testAccuracy);
    expect(await findMarkedProcesses(dataDir)).toEqual([]);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
