import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteChangeFeed } from '#infra/embedded/job-state/change-feed.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { type ApiPorts, createApiApp } from '#shared/api/api-app.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { createLogger } from '#shared/observability/logger.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { checkAnswer } from '../support/api/check-answer.ts';
import { exampleIntake } from '../support/api/example-intake.ts';
import { exampleRegistry } from '../support/api/example-registry.ts';
import { noObjects } from '../support/api/no-objects.ts';
import { jobAfter, queuedJob } from '../support/domain/example-job.ts';
import {
  closedTuning,
  exampleCurve,
  runningTrial,
  searchingTuning,
  succeededTrial,
} from '../support/domain/example-tuning.ts';
import { noUpdates } from '../support/use-cases/updates.ts';

const RUNNING = {
  ordinal: 4,
  jobId: 'digits_trial_4',
  since: 1_000,
  checkedAt: 1_000,
  isStopping: false,
  lostBefore: 0,
};
const best = { ordinal: 2, objective: 0.9, at: 62_000, afterTrials: 2 };

let database: Database;
let ports: ApiPorts;

beforeEach(async () => {
  database = openDatabase(':memory:');
  ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    changes: openSqliteChangeFeed(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    objects: noObjects,
    clock: { now: () => 100_000 },
    page: { find: async () => undefined },
    registry: exampleRegistry(),
    logger: createLogger(() => undefined),
    intake: exampleIntake,
    channels: {},
    notifications: openSqliteNotificationLog(database),
    logs: {
      write: async () => undefined,
      read: async () => ({ entries: [], cursor: '' }),
    } as unknown as ApiPorts['logs'],
  };
  const tuning = searchingTuning({ createdAt: 5_000, running: [RUNNING], best, suggestedCount: 4, asked: null });
  await ports.tunings.create(tuning, []);
  const trials = [succeededTrial(1, 0.5), succeededTrial(2, 0.9), succeededTrial(3, 0.7), runningTrial(4)];
  await ports.tunings.commit({ expectedRevision: 1, eventId: 'e', record: tuning, trials, effects: [] });
  await ports.jobs.create({ ...queuedJob(), jobId: 'plain', createdAt: 1_000 }, []);
  const trial = { tuningId: 'digits', ordinal: 4, metricIds: ['accuracy'] };
  const job = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 3_000]);
  await ports.jobs.create({ ...job, jobId: 'digits_trial_4', trial }, []);
  await ports.curves.write(exampleCurve(4, [0.1, 0.2]), undefined);
});
afterEach(() => database.close());

type Answer = { readonly status: number; readonly body: Record<string, unknown> & { readonly error?: object } };

async function call(path: string, method = 'GET'): Promise<Answer> {
  const response = await createApiApp(ports).request(path, { method });
  await checkAnswer(path, method, response);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

describe('the API', () => {
  it('lists jobs and tunings together, without the jobs of trials', async () => {
    const { body } = await call('/v1/jobs');
    expect(body).toMatchObject({ jobs: [{ jobId: 'digits', tuning: { best: { trialId: '2' } } }, { jobId: 'plain' }] });
    expect(body.nextPageToken).toBeUndefined();
    const first = await call('/v1/jobs?pageSize=1');
    expect(first.body).toMatchObject({ jobs: [{ jobId: 'digits' }], nextPageToken: '5000.digits' });
    expect((await call('/v1/jobs?pageSize=1&pageToken=5000.digits')).body).toMatchObject({
      jobs: [{ jobId: 'plain' }],
    });
  });

  it('describes a tuning, and the job of a trial with its tuning', async () => {
    expect((await call('/v1/jobs/digits')).body).toMatchObject({
      state: 'RUNNING',
      tuning: { counts: { running: 1 }, best: { objective: 0.9 } },
    });
    expect((await call('/v1/jobs/digits_trial_4')).body).toMatchObject({
      state: 'RUNNING',
      tuning: null,
      trial: { tuningId: 'digits', trialId: '4' },
    });
  });

  it('lists trials page by page, with what running ones have reported', async () => {
    const { body } = await call('/v1/jobs/digits/trials?pageSize=3');
    expect(body).toMatchObject({ trials: [{ trialId: '1' }, { trialId: '2' }, { trialId: '3' }], nextPageToken: '3' });
    const rest = (await call('/v1/jobs/digits/trials?pageSize=3&pageToken=3')).body;
    expect(rest).toMatchObject({ trials: [{ trialId: '4', state: 'ACTIVE', objective: 0.2, step: 1 }] });
    expect(rest.nextPageToken).toBeUndefined();
  });

  it('shows one trial with its curve', async () => {
    const { points } = exampleCurve(4, [0.1, 0.2]);
    expect((await call('/v1/jobs/digits/trials/4')).body).toMatchObject({ trialId: '4', curve: points });
    expect((await call('/v1/jobs/digits/trials/1')).body).toMatchObject({ state: 'SUCCEEDED', curve: [] });
  });

  it('shows the page to a browser that opens an unknown address, and JSON to clients of the API', async () => {
    const bytes = new TextEncoder().encode('<html>');
    const index = { contentType: 'text/html', etag: '"1"', bytes: { br: bytes, gzip: bytes, identity: bytes } };
    ports = { ...ports, page: { find: async (path) => (path === 'index.html' ? index : undefined) } };
    const app = createApiApp(ports);
    const typeOf = async (path: string, accept = 'text/html,*/*') => {
      const response = await app.request(path, { headers: { accept } });
      return [response.status, response.headers.get('content-type')?.split(';')[0]];
    };
    expect(await typeOf('/absent')).toEqual([404, 'text/html']);
    expect(await typeOf('/jobs/a/b')).toEqual([404, 'text/html']);
    expect(await typeOf('/absent', '*/*')).toEqual([404, 'application/json']);
    expect(await typeOf('/v1/absent')).toEqual([404, 'application/json']);
    expect(await typeOf('/assets/absent.js')).not.toEqual([404, 'text/html']);
    const policy = (await app.request('/absent', { headers: { accept: 'text/html' } })).headers;
    expect(policy.get('content-security-policy')).toContain("script-src 'self'");
  });

  it('says what does not exist, and what is not a number', async () => {
    const messages = await Promise.all(
      [
        '/v1/jobs/digits/trials/9',
        '/v1/jobs/plain/trials',
        '/v1/jobs/digits_trial_4/trials',
        '/v1/jobs/unknown/trials',
        '/v1/jobs/digits/trials/first',
        '/v1/jobs/digits/trials?pageSize=501',
      ].map(async (path) => {
        const { status, body } = await call(path);
        return [status, (body.error as { message: string }).message];
      }),
    );
    expect(messages).toEqual([
      [404, 'Job digits has no trial 9.'],
      [404, 'Job plain tunes no hyperparameters, so it has no trials.'],
      [404, 'Job digits_trial_4 tunes no hyperparameters, so it has no trials.'],
      [404, 'Job unknown does not exist.'],
      [400, 'first is not a valid trial id.'],
      [400, '501 is not an integer from 1 to 500.'],
    ]);
  });

  it.each([
    ['/api/2.0/mlflow/runs/get?run_id=digits', '`mlflow ui`'],
    ['/v1/jobs/digits/profiles', '`dropforge exec JOB -- py-spy record'],
    ['/v1/jobs/digits/profiles/p1', '`dropforge exec JOB -- py-spy record'],
  ])('names what to use instead of the removed path %s', async (path, remedy) => {
    const { status, body } = await call(path);
    expect(status).toBe(404);
    expect(body.error).toMatchObject({ remedy: expect.stringContaining(remedy) });
  });

  it('recommends another trial than the best reported one of a noisy metric, once the tuning has ended', async () => {
    const noisy = (index: number) => 0.2 * (((index * 7_919) % 31) / 31 - 0.5);
    const objectiveAt = (rate: number, noise: number) => 1 - (Math.log10(rate) + 1) ** 2 / 4 + noise;
    for (const [tuningId, noise] of [
      ['noisy', noisy],
      ['exact', () => 0],
    ] as const) {
      const trials = Array.from({ length: 40 }, (_, index) => {
        const rate = 10 ** (-3 + (3 * index) / 39);
        return succeededTrial(index + 1, objectiveAt(rate, noise(index)), { tuningId, values: { rate } });
      });
      const objectives = trials.map(({ outcome }) => (outcome?.kind === 'SUCCEEDED' ? outcome.objective : 0));
      const ordinal = objectives.indexOf(Math.max(...objectives)) + 1;
      const counts = { succeeded: 40, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0 };
      const tuning = { ...closedTuning(), tuningId, counts, best: { ...best, ordinal } };
      await ports.tunings.create(searchingTuning({ tuningId }), []);
      await ports.tunings.commit({ expectedRevision: 1, eventId: 'e', record: tuning, trials, effects: [] });
    }
    const recommendedOf = async (id: string) => jobViewSchema.parse((await call(`/v1/jobs/${id}`)).body).tuning;
    expect(await recommendedOf('exact')).toMatchObject({ recommended: null });
    const { recommended, best: reported } = (await recommendedOf('noisy')) ?? {};
    expect(recommended?.trial.trialId).not.toBe(reported?.trialId);
    expect(Math.log10(Number(recommended?.trial.parameters.rate))).toBeCloseTo(-1, 0);
    expect(recommended?.expectedObjective).toBeCloseTo(1, 0);
  });

  it('cancels a tuning', async () => {
    const { body } = await call('/v1/jobs/digits:cancel', 'POST');
    expect(body).toMatchObject({ state: 'CANCELLING', tuning: { stopReason: 'CANCELLED' } });
  });
});
