import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { startCloudForEachTest } from '../../support/cli/submit-under-test.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

const { cloud, work, submit } = startCloudForEachTest();

const STUDY = `
maxTrialCount: 8
parallelTrialCount: 2
studySpec:
  metrics: [{metricId: accuracy, goal: MAXIMIZE}]
  parameters: [{parameterId: lr, doubleValueSpec: {minValue: 0.1, maxValue: 1}}]
trialJobSpec:
  workerPoolSpecs:
    - machineSpec: {machineType: n1-standard-4}
      replicaCount: 1
      pythonPackageSpec: {packageUris: [gs://libs/p.tar.gz], pythonModule: trainer.task,
        executorImageUri: 'us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest'}
`;

const AI_PLATFORM = `
trainingInput:
  scaleTier: BASIC
  region: us-central1
  packageUris: [gs://libs/p.tar.gz]
  pythonModule: trainer.task
  hyperparameters:
    hyperparameterMetricTag: accuracy
    maxTrials: 8
    maxParallelTrials: 2
    params: [{parameterName: lr, type: DOUBLE, minValue: 0.1, maxValue: 1}]
`;

const create = (...argv: string[]) =>
  runCli(['hp-tuning-jobs', 'create', ...argv], { dataDir: cloud().dataDir, cwd: work() });

async function write(name: string, content: string): Promise<void> {
  await writeFile(join(work(), name), content);
}

async function dryRun(...argv: string[]) {
  const { stdout } = await create('--display-name=Search', '--dry-run', '--format=json', ...argv);
  return JSON.parse(stdout) as { flags: string[]; spec: { study: object } | null; problems: { path: string }[] };
}

describe('dropforge hp-tuning-jobs create', () => {
  it('submits the tuning with the flags of gcloud', async () => {
    await write('hp.yaml', STUDY);
    const flags = ['--max-trial-count=40', '--parallel-trial-count', '4', '--algorithm=random-search', '--max-cost=20'];
    const { spec, flags: sent } = await dryRun('--region=us-central1', '--labels=a=b', '--config=hp.yaml', ...flags);
    expect(spec).toMatchObject({
      jobId: 'Search',
      study: { trialsMax: 40, parallelTrialsMax: 4, algorithm: 'RANDOM', maxCostUsd: 20 },
      labels: { a: 'b' },
    });
    expect(sent).toContain('--algorithm=random-search');
  });

  it('keeps the numbers of the file, or runs one trial as gcloud does', async () => {
    await write('hp.yaml', STUDY);
    await write('bare.yaml', STUDY.replace(/maxTrialCount.*\nparallelTrialCount.*\n/, ''));
    expect((await dryRun('--config=hp.yaml')).spec?.study).toMatchObject({ trialsMax: 8, parallelTrialsMax: 2 });
    expect((await dryRun('--config=bare.yaml')).spec?.study).toMatchObject({ trialsMax: 1, parallelTrialsMax: 1 });
    const { spec } = await dryRun('--config=bare.yaml', '--max-trial-count=9');
    expect(spec?.study).toMatchObject({ trialsMax: 9, parallelTrialsMax: 1 });
  });

  it('reports a problem with its flag', async () => {
    await write('hp.yaml', STUDY);
    const { problems } = await dryRun('--config=hp.yaml', '--parallel-trial-count=101');
    expect(problems.map(({ path }) => path)).toContain('--parallel-trial-count');
  });

  it.each([
    [[], '--display-name is missing'],
    [['--display-name=a'], '--config is missing'],
    [
      ['--display-name=a', '--config=aip.yaml'],
      'Submit it with `dropforge jobs submit training JOB --config aip.yaml`',
    ],
    [['--display-name=a', '--config=job.yaml'], 'has no studySpec'],
    [['--display-name=a', '--config=hp.yaml', '--algorithm=tpe'], 'the choices are algorithm-unspecified'],
    [['--display-name=a', '--config=hp.yaml', '--max-cost=0'], 'use an amount of US dollars above 0'],
    [['--display-name=a', '--config=hp.yaml', '--max-trial-count=many'], 'use a whole number'],
    [['--display-name=a', '--max-trial-counts=3'], '(Did you mean --max-trial-count?)'],
  ])('rejects %j', async (argv, message) => {
    await write('aip.yaml', AI_PLATFORM);
    await write('job.yaml', STUDY.slice(STUDY.indexOf('  workerPoolSpecs')).replaceAll(/^ {2}/gm, ''));
    await write('hp.yaml', STUDY);
    const { code, stderr } = await create(...argv);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('the plan of a tuning', () => {
  it('is printed before the job file is uploaded, with the limit of the cost in it', async () => {
    await write('aip.yaml', AI_PLATFORM);
    const { code, stderr } = await submit('one', '--config=aip.yaml', '--max-cost', '7.5');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Tuning one: 8 trials, 2 at a time, to maximize accuracy\.\n {2}lr: double from 0\.1 to 1\n(?: {2}.*\n){2}$/,
    );
    expect(stderr).not.toContain('pass --max-cost');
    const object = await cloud().store.read({ bucket: 'uploads', name: 'one/job.yaml' });
    expect(JSON.parse(object === undefined ? '' : await text(object))).toEqual({
      jobFile: AI_PLATFORM,
      fileName: 'aip.yaml',
      command: 'jobs submit training',
      flags: ['--max-cost=7.5'],
      jobId: 'one',
    });
  });

  it('is printed before it is submitted, with a price range', async () => {
    await write('aip.yaml', AI_PLATFORM);
    const { stdout } = await submit('one', '--config=aip.yaml', '--dry-run');
    expect(stdout).toContain('Tuning one: 8 trials, 2 at a time, to maximize accuracy.');
    expect(stdout).toMatch(/\$0\.\d+ per hour and trial \(list price\): \$0\.\d+ if each trial takes 10 min\./);
    expect(stdout).toContain('How long a trial takes is not known');
  });

  it('has an upper limit if the running time has one', async () => {
    await write('aip.yaml', AI_PLATFORM.replace('  hyper', '  scheduling: {maxRunningTime: 3600s}\n  hyper'));
    const { stdout } = await submit('one', '--config=aip.yaml', '--dry-run', '--max-cost=2');
    expect(stdout).toMatch(
      /At most \$1\.5\d: \$0\.19\d* per hour and trial \(list price\), and at most 1 h per trial\./,
    );
    expect(stdout).toContain('It ends when it has cost $2.00.');
  });

  it('is not printed for other jobs, which have no --max-cost', async () => {
    const job = AI_PLATFORM.slice(0, AI_PLATFORM.indexOf('  hyperparameters'));
    await write('plain.yaml', job);
    expect((await submit('one', '--config=plain.yaml')).stderr).toMatch(/^Price .*\n$/);
    expect(await submit('one', '--config=plain.yaml', '--max-cost=2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--max-cost is for tuning jobs'),
    });
  });
});
