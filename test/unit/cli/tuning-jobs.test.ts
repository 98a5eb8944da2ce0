import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobView } from '../../../shared/protocol/job-view.ts';
import { runCli, startTestCloud, type TestCloud, trialOf, tuningOf, viewOf } from '../../support/cli/test-cloud.ts';

const BEST = trialOf('2', { objective: 0.97654, parameters: { learning_rate: 0.25, optimizer: 'sgd' } });
const NONE = { succeeded: 0, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0, running: 0 };
const COUNTS = { succeeded: 2, stoppedEarly: 1, infeasible: 0, failed: 1, lost: 0, running: 3 };

const SEARCH = viewOf('search', {
  state: 'RUNNING',
  endTime: null,
  placement: null,
  tuning: tuningOf({
    endedTrialCount: 3,
    counts: { ...COUNTS, lost: 1 },
    best: BEST,
    maxCostUsd: 5,
    forecast: { endTime: '2026-11-21T08:00:00.000Z', totalUsd: 1.5 },
  }),
});

function ended(overrides: Partial<JobView> = {}, stopReason: string | null = null): JobView {
  const tuning = tuningOf({ endedTrialCount: 3, counts: { ...COUNTS, running: 0 }, best: BEST, stopReason });
  return viewOf('search', { tuning, ...overrides });
}

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
  cloud.jobs.set('search', [SEARCH]);
  cloud.trials.push(
    trialOf('1', { objective: 0.9, isTrialStoppedEarly: true, step: 4 }),
    BEST,
    trialOf('3', { state: 'FAILED', objective: null, step: null, reason: 'It broke.' }),
  );
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir });

describe('jobs describe of a tuning', () => {
  it('shows the best values, progress, cost, forecast, the best trials and what to do next', async () => {
    const { code, stdout } = await cli('jobs', 'describe', 'search');
    expect(code).toBe(0);
    expect(stdout).toContain('search  RUNNING');
    expect(stdout).toContain('maximizes accuracy by Bayesian optimization; trials below the median');
    expect(stdout).toContain('3 of 40 trials, 3 running (1 stopped early, 1 failed, 1 lost)');
    expect(stdout).toContain('trial 2: accuracy 0.9765 at step 30\n              learning_rate=0.25 optimizer=sgd');
    expect(stdout).toContain('$0.0016 so far on Google Cloud, limit $5.00');
    expect(stdout).toContain('$1.50 in total, ends about 2026-11-21 08:00:00 UTC');
    expect(stdout).toMatch(/^Best trials\n {2}TRIAL .*\n {2}2 .*\n {2}1 .*\n {2}3 /m);
    expect(stdout).toContain('npx dropforge trials search\n');
    expect(stdout).toContain('npx dropforge cp -r gs://jobs/search/2 outputs/');
    expect(stdout).not.toContain('attempt');
  });

  it('shows the image that all trials run', async () => {
    const image = { digest: `sha256:${'0a'.repeat(32)}`, sizeBytes: 1_048_576, platform: 'linux/amd64' };
    cloud.jobs.set('search', [ended({ images: [{ role: 'master', requested: 'a/b:1', ...image }] })]);
    const { stdout } = await cli('jobs', 'describe', 'search');
    expect(stdout).toContain('a/b:1 is sha256:0a0a0a0a0a0a, 1 MiB compressed, linux/amd64');
  });

  it('says why it ended early', async () => {
    cloud.jobs.set('search', [ended({}, 'MAX_COST')]);
    const { stdout } = await cli('jobs', 'describe', 'search');
    expect(stdout).toContain('stopped     the limit of the cost was reached');
    expect(stdout).not.toContain('forecast');
    expect(stdout).toContain('$0.0016 on Google Cloud');
  });

  it('has AI Platform’s trainingOutput as JSON, best trial first', async () => {
    const [job] = (await cli('jobs', 'describe', 'search', '--format=json')).json();
    expect(job).toMatchObject({
      jobId: 'search',
      trainingOutput: {
        completedTrialCount: '2',
        isHyperparameterTuningJob: true,
        hyperparameterMetricTag: 'accuracy',
        trials: [
          {
            trialId: '2',
            hyperparameters: { learning_rate: '0.25', optimizer: 'sgd' },
            finalMetric: { trainingStep: '30', objectiveValue: 0.97654 },
            state: 'SUCCEEDED',
            startTime: '2026-11-21T06:00:05.000Z',
            endTime: '2026-11-21T06:02:35.000Z',
          },
          { trialId: '1', isTrialStoppedEarly: true, finalMetric: { trainingStep: '4' } },
          { trialId: '3', state: 'FAILED' },
        ],
      },
    });
  });

  it('names the tuning of a trial’s job', async () => {
    cloud.jobs.set('search_trial_2', [viewOf('search_trial_2', { trial: { tuningId: 'search', trialId: '2' } })]);
    expect((await cli('jobs', 'describe', 'search_trial_2')).stdout).toContain(
      '2 of tuning search; for its values and measurements: npx dropforge trials search 2',
    );
  });
});

describe('hp-tuning-jobs describe', () => {
  it('has the shape of Vertex AI’s HyperparameterTuningJob', async () => {
    const [job] = (await cli('hp-tuning-jobs', 'describe', 'search', '--format=json')).json();
    expect(job).toMatchObject({
      name: 'search',
      displayName: 'search',
      state: 'JOB_STATE_RUNNING',
      maxTrialCount: 40,
      parallelTrialCount: 3,
      studySpec: {
        metrics: [{ metricId: 'accuracy', goal: 'MAXIMIZE' }],
        medianAutomatedStoppingSpec: { useElapsedDuration: false },
        measurementSelectionType: 'LAST_MEASUREMENT',
        parameters: [
          {
            parameterId: 'learning_rate',
            doubleValueSpec: { minValue: 1e-4, maxValue: 1 },
            scaleType: 'UNIT_LOG_SCALE',
          },
          { parameterId: 'hidden', integerValueSpec: { minValue: '8', maxValue: '128' } },
          {
            parameterId: 'optimizer',
            categoricalValueSpec: { values: ['sgd', 'momentum'] },
            conditionalParameterSpecs: [
              {
                parentCategoricalValues: { values: ['momentum'] },
                parameterSpec: { parameterId: 'momentum', discreteValueSpec: { values: [0.5, 0.9] } },
              },
            ],
          },
        ],
      },
      trials: [
        {
          id: '2',
          state: 'SUCCEEDED',
          parameters: [
            { parameterId: 'learning_rate', value: 0.25 },
            { parameterId: 'optimizer', value: 'sgd' },
          ],
          finalMeasurement: { stepCount: '30', metrics: [{ metricId: 'accuracy', value: 0.97654 }] },
          startTime: '2026-11-21T06:00:05.000Z',
        },
        { id: '1' },
        { id: '3', state: 'INFEASIBLE', infeasibleReason: 'It broke.' },
      ],
    });
  });

  it('prints the same text as jobs describe', async () => {
    const [own, other] = [await cli('hp-tuning-jobs', 'describe', 'search'), await cli('jobs', 'describe', 'search')];
    expect(own.stdout.replaceAll(/\d+ d.* ago/g, '')).toBe(other.stdout.replaceAll(/\d+ d.* ago/g, ''));
  });

  it('prints why a submission was rejected', async () => {
    const problems = [{ code: 'GRID_TOO_LARGE', message: 'The grid is too large.', remedy: 'List fewer values.' }];
    const report = { source: 'gs://uploads/none/job.yaml', jobId: 'none', verdict: 'REFUSED', problems, warnings: [] };
    const object = { bucket: 'uploads', name: 'none/job.yaml.report.json' };
    await cloud.store.write(object, Buffer.from(JSON.stringify({ ...report, job: null })));
    expect(await cli('hp-tuning-jobs', 'describe', 'none')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('GRID_TOO_LARGE: The grid is too large.'),
    });
  });

  it('is not for other jobs', async () => {
    cloud.jobs.set('one', [viewOf('one')]);
    expect(await cli('hp-tuning-jobs', 'describe', 'one')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not a tuning job: see `npx dropforge jobs describe one`'),
    });
  });
});

describe('lists of jobs', () => {
  beforeEach(() => cloud.jobs.set('one', [viewOf('one')]));

  it('show the progress and the best value of a tuning', async () => {
    const { stdout } = await cli('jobs', 'list');
    expect(stdout).toMatch(/^JOB\s+STATE\s+GPU\s+PROGRESS\s+METRIC\s/m);
    expect(stdout).toMatch(/^search\s+RUNNING\s+-\s+3 of 40 trials\s+best accuracy 0\.9765\s/m);
    expect(stdout).toMatch(/^one\s+SUCCEEDED\s+-\s+-\s+-\s/m);
  });

  it('can be printed as CSV, also of some fields', async () => {
    expect((await cli('jobs', 'list', '--format=csv(jobId,tuning.best.objective,placement)')).stdout).toBe(
      'jobId,tuning.best.objective,placement\nsearch,0.97654,\n' +
        'one,,"{""zone"":""us-central1-a"",""provisioningModel"":""STANDARD"",""machineImage"":""cpu""}"\n',
    );
    const { stdout } = await cli('jobs', 'list', '--format=table');
    expect(stdout).toMatch(/^JOB /);
  });

  it('can have tunings only, in Vertex AI’s form', async () => {
    expect((await cli('hp-tuning-jobs', 'list')).stdout).not.toMatch(/^one/m);
    const [jobs] = (await cli('hp-tuning-jobs', 'list', '--format=json')).json();
    expect(jobs).toMatchObject([{ name: 'search', maxTrialCount: 40 }]);
  });
});

describe('following a tuning', () => {
  it('prints a line for each trial that has ended, with the best so far', async () => {
    const tuning = (succeeded: number) => tuningOf({ counts: { ...NONE, succeeded } });
    const trials = cloud.trials.splice(0);
    cloud.jobs.set('search', [
      viewOf('search', { state: 'RUNNING', tuning: tuning(0) }),
      viewOf('search', { state: 'RUNNING', tuning: tuning(1) }),
      ended(),
    ]);
    let polls = 0;
    cloud.onAnswer = (request) => {
      polls += request === 'GET /v1/jobs/search' ? 1 : 0;
      const count = { 2: 1, 3: 3 }[polls] ?? cloud.trials.length;
      cloud.trials.push(...trials.slice(cloud.trials.length, count));
    };
    const { code, stdout, stderr } = await cli('jobs', 'stream-logs', 'search');
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toEqual([
      'trial 1   accuracy 0.9, stopped early  learning_rate=0.03125 hidden=64 optimizer=sgd  ← best so far',
      'trial 2   accuracy 0.9765  learning_rate=0.25 optimizer=sgd  ← best so far',
      'trial 3   FAILED: It broke.  learning_rate=0.03125 hidden=64 optimizer=sgd  (best so far: 0.9765, trial 2)',
    ]);
    expect(stderr).toContain('Each trial has a log of its own: npx dropforge jobs stream-logs search --trial N');
    expect(stderr).toContain('Job search ended: SUCCEEDED.\n3 of 40 trials (1 stopped early, 1 failed); best trial 2');
  });

  it('prints the trials that end after a lost one', async () => {
    const lost = trialOf('1', { state: 'LOST', objective: null, step: null, reason: 'There was no VM.' });
    cloud.trials.splice(0, cloud.trials.length, lost);
    cloud.jobs.set('search', [
      viewOf('search', { state: 'RUNNING', tuning: tuningOf({ counts: { ...NONE, lost: 1 } }) }),
      ended({ tuning: tuningOf({ endedTrialCount: 1, counts: { ...NONE, lost: 1, succeeded: 1 } }) }),
    ]);
    cloud.onAnswer = (request) => {
      cloud.trials.push(
        ...(request.startsWith('GET /v1/jobs/search/trials') && cloud.trials.length === 1 ? [BEST] : []),
      );
    };
    const { stdout } = await cli('jobs', 'stream-logs', 'search');
    expect(stdout).toMatch(/^trial 1 .*LOST: There was no VM[\s\S]*^trial 2 .*accuracy 0.9765/m);
  });

  it('prints the log of one trial', async () => {
    cloud.jobs.set('search_trial_2', [viewOf('search_trial_2')]);
    const entry = { jobId: 'search_trial_2', attempt: 1, replica: 'master-0', stream: 'stdout' } as const;
    cloud.logs.push({ ...entry, severity: 'INFO', at: 0, text: 'epoch 1' });
    const { stdout } = await cli('jobs', 'stream-logs', 'search', '--trial', '2');
    expect(stdout).toBe('00:00:00.000 master-0  epoch 1\n');
    expect(await cli('jobs', 'stream-logs', 'search', '--trial', '0')).toMatchObject({ code: 2 });
  });

  it.each([
    ['SUCCEEDED', 0],
    ['FAILED', 1],
    ['CANCELLED', 1],
  ])('waits until it is %s and exits with %i', async (state, code) => {
    cloud.jobs.set('search', [SEARCH, ended({ state })]);
    const result = await cli('jobs', 'wait', 'search');
    expect(result.code).toBe(code);
    expect(result.stdout).toContain(
      `search  ${state}\n3 of 40 trials (1 stopped early, 1 failed); best trial 2: accuracy`,
    );
  });
});
