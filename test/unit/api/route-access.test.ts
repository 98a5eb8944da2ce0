import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { closedJob, queuedJob } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';
import { closedTuning, runningTrial } from '../../support/domain/example-tuning.ts';

/** What the program of the example jobs printed: in every text of a record that can repeat a line of the log. */
const PRINTED = 'hunter2-was-printed';

/** For all, for callers who prove who they are, or for the submitter of the job and operators. */
type Allowed = 'ALL' | 'KNOWN' | 'OWN';

/** Each route of the API: for whom it is with only_own_jobs, and a request for it. */
const ROUTES: Readonly<Record<string, readonly [Allowed, string, object?]>> = {
  'GET /': ['ALL', '/'],
  'GET /drop': ['ALL', '/drop'],
  'GET /compare': ['ALL', '/compare'],
  'GET /diagnosis/:label': ['ALL', '/diagnosis/gpu_oom'],
  'GET /jobs/:jobId': ['ALL', '/jobs/digits'],
  'GET /assets/:name': ['ALL', '/assets/app.js'],
  'POST /v1/jobs': ['KNOWN', '/v1/jobs', { jobId: 'other', jobFile: 'machine: n1-standard-4' }],
  'PUT /v1/uploads/:uploadId/parts/:part': ['KNOWN', '/v1/uploads/0123456789abcdef/parts/1'],
  'POST /v1/uploads/:target{.+:validate}': ['KNOWN', '/v1/uploads/0123456789abcdef:validate'],
  'POST /v1/uploads/:target{.+:start}': ['KNOWN', '/v1/uploads/0123456789abcdef:start'],
  'GET /v1/jobs': ['ALL', '/v1/jobs?view=PROGRESS'],
  'GET /v1/running': ['ALL', '/v1/running'],
  'GET /v1/changes': ['ALL', '/v1/changes'],
  'GET /v1/jobs/:jobId': ['ALL', '/v1/jobs/digits'],
  'GET /v1/jobs/:jobId/logs': ['OWN', '/v1/jobs/digits/logs'],
  'GET /v1/jobs/:jobId/trials': ['ALL', '/v1/jobs/search/trials'],
  'GET /v1/jobs/:jobId/trials/:trialId': ['ALL', '/v1/jobs/search/trials/1'],
  'GET /v1/jobs/:jobId/definition': ['OWN', '/v1/jobs/digits/definition'],
  'GET /v1/jobs/:jobId/files': ['OWN', '/v1/jobs/digits/files'],
  'GET /v1/jobs/:jobId/files/content': ['OWN', '/v1/jobs/digits/files/content?name=model.json'],
  'GET /v1/metrics/sparklines': ['ALL', '/v1/metrics/sparklines?series=digits:loss'],
  'GET /v1/jobs/:jobId/metrics': ['ALL', '/v1/jobs/digits/metrics'],
  'GET /v1/jobs/:jobId/metrics/points': ['ALL', '/v1/jobs/digits/metrics/points?name=loss'],
  'GET /v1/notifications': ['ALL', '/v1/notifications'],
  'POST /v1/notifications:test': ['KNOWN', '/v1/notifications:test'],
  'GET /v1/notifications/:id': ['ALL', '/v1/notifications/1'],
  'POST /v1/jobs/:target{.+:openShell}': ['OWN', '/v1/jobs/digits:openShell', {}],
  'POST /v1/jobs/:target{.+:release}': ['OWN', '/v1/jobs/digits:release'],
  'POST /v1/jobs/:target{.+:cancel}': ['OWN', '/v1/jobs/digits:cancel'],
};

/** Not routes: they only look at requests. */
const MIDDLEWARE = ['ALL /*', 'ALL /v1/*'];

/** Further requests of the same routes, for other records. */
const MORE = ['waiting', 'search', 'search_trial_1'].map((jobId) => `/v1/jobs/${jobId}`);

const OWNER = 'ada@example.com';
const OPERATOR = 'ops@example.com';
const OTHER = 'eve@example.com';

let api: ApiUnderTest;
beforeAll(async () => {
  api = await openApiUnderTest({
    intake: { ...exampleIntake, hasUserFolders: true, hasShellAccess: true },
    access: {
      policy: { onlyOwnJobs: true, operators: [OPERATOR] },
      identifyCaller: async (headers) => ({ email: headers.get('x-test-caller') }),
    },
  });
  await addRecords();
});
afterAll(() => api.close());

async function addRecords(): Promise<void> {
  const source = { ...queuedJob().source, submittedBy: OWNER };
  const diagnosis = { label: 'gpu_oom', remedy: PRINTED, canRetryHelp: false, line: PRINTED };
  const cause = { ...causeOf('PROGRAM_FAILED', PRINTED, [PRINTED]), diagnosis };
  const verdict = { state: 'FAILED', cause } as const;
  const attempt = { attempt: 1, zone: null, provisioningModel: null, placedAt: null, ranAt: 1, endedAt: 2, cause };
  const failed: Job = Object.assign({}, closedJob(), { source, verdict, ledger: [attempt] });
  await api.ports.jobs.create(failed, []);
  const { spec } = queuedJob();
  const waiting = { source, isBackingOff: true, waitingFor: cause, ledger: [attempt], attempt: 2 };
  await api.ports.jobs.create(
    { ...queuedJob(), ...waiting, jobId: 'waiting', spec: { ...spec, jobId: 'waiting' } },
    [],
  );
  const finding = { code: 'NON_FINITE', message: PRINTED, remedy: PRINTED, evidence: [PRINTED] } as const;
  await api.ports.replicas.record({
    ...exampleReplica(),
    heardAt: 1_500,
    health: [{ ...finding, since: 1, until: null }],
    exit: { outcome: 'FAILED', cause },
  });
  await addTuning({ source, verdict, cause });
  await api.objects.write({ bucket: 'jobs', name: 'digits/model.json' }, Buffer.from(PRINTED));
}

type Facts = Pick<Job, 'source'> & {
  readonly verdict: { readonly state: 'FAILED'; readonly cause: ReturnType<typeof causeOf> };
  readonly cause: ReturnType<typeof causeOf>;
};

async function addTuning({ source, verdict, cause }: Facts): Promise<void> {
  const tuningId = 'search';
  const tuning = { ...closedTuning(), tuningId, spec: { ...closedTuning().spec, jobId: tuningId }, source, verdict };
  await api.ports.tunings.create(tuning, []);
  const ended = { tuningId, endedAt: 2 };
  await api.ports.tunings.commit({
    expectedRevision: 1,
    eventId: 'ended',
    tuning,
    effects: [],
    trials: [
      runningTrial(1, { ...ended, outcome: { kind: 'FAILED', cause } }),
      runningTrial(2, { ...ended, outcome: { kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: PRINTED } }),
      runningTrial(3, { ...ended, outcome: { kind: 'LOST', cause } }),
    ],
  });
}

type Request = { readonly method: string; readonly path: string; readonly body?: object | undefined };

async function send({ method, path, body }: Request, caller: string | null) {
  const response = await api.request(path, {
    method: method === 'ALL' ? 'GET' : method,
    headers: {
      'content-type': method === 'PUT' ? 'application/octet-stream' : 'application/json',
      ...(caller !== null && { 'x-test-caller': caller }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const text = isStream ? '' : await response.text();
  await (isStream ? response.body?.cancel() : undefined);
  return { status: response.status, text };
}

describe('with only_own_jobs', () => {
  it('each route is in the table of who may call it', () => {
    const routes = [...new Set(api.routes)].filter((route) => !MIDDLEWARE.includes(route));
    expect(routes.toSorted()).toEqual(Object.keys(ROUTES).toSorted());
  });

  it.each(Object.entries(ROUTES))('%s is for whom the table says', async (route, [allowed, path, body]) => {
    const [method = ''] = route.split(' ');
    const isDenied = async (caller: string | null) => (await send({ method, path, body }, caller)).status === 403;
    expect({
      other: await isDenied(OTHER),
      anonymous: await isDenied(null),
      operator: await isDenied(OPERATOR),
      owner: await isDenied(OWNER),
    }).toEqual({ other: allowed === 'OWN', anonymous: allowed !== 'ALL', operator: false, owner: false });
  });

  it.each([...Object.entries(ROUTES), ...MORE.map((path) => [`GET ${path}`, ['ALL', path]] as const)])(
    '%s shows others nothing that a program printed',
    async (route, [, path, body]) => {
      const [method = ''] = route.split(' ');
      for (const caller of [OTHER, null]) {
        expect((await send({ method, path, body }, caller)).text).not.toContain(PRINTED);
      }
    },
  );

  it.each([
    '/v1/jobs',
    '/v1/jobs?view=PROGRESS',
    '/v1/jobs/digits',
    '/v1/jobs/waiting',
    '/v1/jobs/search',
    '/v1/jobs/search/trials',
    '/v1/jobs/search/trials/2',
  ])('%s shows it to the submitter and to operators', async (path) => {
    for (const caller of [OWNER, OPERATOR]) {
      expect((await send({ method: 'GET', path }, caller)).text).toContain(PRINTED);
    }
  });

  it('others still see code, label and the general remedy of a cause', async () => {
    const { text } = await send({ method: 'GET', path: '/v1/jobs/digits' }, OTHER);
    expect(JSON.parse(text).cause).toMatchObject({
      code: 'PROGRAM_FAILED',
      label: 'gpu_oom',
      remedy: expect.stringContaining('Halve the batch size'),
      evidence: [],
      rootLine: null,
    });
  });
});
