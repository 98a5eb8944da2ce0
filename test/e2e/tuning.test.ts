import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 500 }, vmsMax: 2 });
});

afterAll(() => cloud.stop());

/** Reports the negative distance of the rate from 0.3, as an accuracy. */
const PROGRAM = `
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument('--rate', type=float)
parser.add_argument('--job-dir')
args = parser.parse_args()
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    for step in range(1, 4):
        file.write(json.dumps({'step': step, 'accuracy': -abs(args.rate - 0.3) - 1 / step}) + '\\n')
`;

function tuningFile(jobId: string, hyperparameters: object = {}): object {
  return {
    jobId,
    trainingInput: {
      scaleTier: 'BASIC',
      region: 'us-central1',
      pythonModule: 'trainer.task',
      hyperparameters: {
        goal: 'MAXIMIZE',
        hyperparameterMetricTag: 'accuracy',
        maxTrials: 6,
        maxParallelTrials: 2,
        params: [{ parameterName: 'rate', type: 'DOUBLE', minValue: 0, maxValue: 1 }],
        ...hyperparameters,
      },
    },
  };
}

async function listTrials(jobId: string): Promise<readonly TrialView[]> {
  const response = await fetch(`${cloud.endpoints.api}/v1/jobs/${jobId}/trials`);
  return ((await response.json()) as { readonly trials: readonly TrialView[] }).trials;
}

it('runs all trials, a limited number at a time, names the best, and leaves nothing that runs', async () => {
  await cloud.upload('search.tar.gz', await packProgram(PROGRAM, tuningFile('search')));
  const job = await cloud.awaitJob('search', undefined, 180_000);
  expect(job).toMatchObject({
    state: 'SUCCEEDED',
    tuning: { endedTrialCount: 6, counts: { succeeded: 6, running: 0 }, stopReason: null, forecast: null },
  });
  const trials = await listTrials('search');
  expect(trials.map(({ trialId, state }) => [trialId, state])).toEqual(
    Array.from({ length: 6 }, (_, index) => [String(index + 1), 'SUCCEEDED']),
  );
  const objectives = trials.map(({ objective }) => objective ?? Number.NEGATIVE_INFINITY);
  const expected = trials.map(({ parameters }) => -Math.abs(Number(parameters.rate) - 0.3) - 1 / 3);
  for (const [index, objective] of objectives.entries()) {
    expect(objective).toBeCloseTo(expected[index] ?? 0, 9);
  }
  const best = trials[objectives.indexOf(Math.max(...objectives))];
  expect(job.tuning?.best).toEqual(best);
  expect(mostAtOnce(trials)).toBeLessThanOrEqual(2);
  expect(await cloud.listVms()).toEqual([]);
  const { job: reported } = await cloud.awaitReport(
    'search.tar.gz.report.json',
    ({ job: view }) => view?.state === 'SUCCEEDED',
  );
  expect(reported?.tuning?.best?.trialId).toBe(best?.trialId);
});

it('lists the tuning as one job, and has the curve and the log of each trial', async () => {
  const { jobs } = (await (await fetch(`${cloud.endpoints.api}/v1/jobs`)).json()) as {
    readonly jobs: readonly { readonly jobId: string }[];
  };
  expect(jobs.map(({ jobId }) => jobId)).toEqual(['search']);
  const response = await fetch(`${cloud.endpoints.api}/v1/jobs/search/trials/3`);
  const { curve, jobId } = (await response.json()) as { curve: readonly { step: number }[]; jobId: string };
  expect(curve.map(({ step }) => step)).toEqual([1, 2, 3]);
  expect(await cloud.readJob(jobId)).toMatchObject({
    state: 'SUCCEEDED',
    trial: { tuningId: 'search', trialId: '3' },
    jobDir: expect.stringMatching(/\/search\/3$/),
  });
});

it('goes on from an earlier tuning with its parameters', async () => {
  const { params: _, ...fields } = { params: [], maxTrials: 2, resumePreviousJobId: 'search' };
  const file = tuningFile('more', fields) as { trainingInput: { hyperparameters: { params?: unknown } } };
  delete file.trainingInput.hyperparameters.params;
  await cloud.upload('more.tar.gz', await packProgram(PROGRAM, file));
  const job = await cloud.awaitJob('more', undefined, 120_000);
  expect(job).toMatchObject({ state: 'SUCCEEDED', tuning: { resumes: ['search'], endedTrialCount: 2 } });
  const tried = (await listTrials('search')).map(({ parameters }) => parameters.rate);
  for (const { parameters } of await listTrials('more')) {
    expect(tried).not.toContain(parameters.rate);
  }
});

it('refuses ids that are taken, and earlier tunings that do not fit, with the line', async () => {
  await cloud.upload('other.tar.gz', await packProgram(`${PROGRAM}\n`, tuningFile('search', { maxTrials: 3 })));
  const taken = await cloud.awaitReport('other.tar.gz.report.json');
  expect(taken).toMatchObject({ verdict: 'REFUSED', problems: [{ code: 'JOB_ID_TAKEN' }] });
  const missing = tuningFile('again', { resumePreviousJobId: 'never_was' });
  await cloud.upload('again.tar.gz', await packProgram(PROGRAM, missing));
  const { problems } = await cloud.awaitReport('again.tar.gz.report.json');
  expect(problems).toMatchObject([
    {
      code: 'RESUMED_TUNING_MISSING',
      path: 'trainingInput.hyperparameters.resumePreviousJobId',
      line: expect.any(Number),
    },
  ]);
});

it('cancels all of its trials', async () => {
  const endless = 'import time\nwhile True:\n    time.sleep(1)\n';
  await cloud.upload('long.tar.gz', await packProgram(endless, tuningFile('long')));
  await cloud.awaitJob('long', ({ tuning }) => tuning?.counts.running === 2);
  await cloud.cancel('long');
  expect(await cloud.awaitJob('long')).toMatchObject({ state: 'CANCELLED', tuning: { stopReason: 'CANCELLED' } });
  expect((await listTrials('long')).map(({ state }) => state)).toEqual(['LOST', 'LOST']);
  expect(await cloud.listVms()).toEqual([]);
});

/** The largest number of trials whose running times overlap. */
function mostAtOnce(trials: readonly TrialView[]): number {
  const times = trials.flatMap(({ startTime, endTime }) => [
    { at: Date.parse(startTime ?? ''), change: 1 },
    { at: Date.parse(endTime ?? ''), change: -1 },
  ]);
  let [running, most] = [0, 0];
  for (const { change } of times.sort((a, b) => a.at - b.at || a.change - b.change)) {
    running += change;
    most = Math.max(most, running);
  }
  return most;
}
