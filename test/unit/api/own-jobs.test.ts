import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '#shared/domain/job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { closedJob, queuedJob } from '../../support/domain/example-job.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const POLICY = { onlyOwnJobs: true, operators: ['Ops@example.com'] };

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest({
    access: { policy: POLICY, identifyCaller: async (headers) => ({ email: headers.get('x-test-caller') }) },
  });
});
afterEach(() => api.close());

async function addJob(submittedBy: string | null): Promise<void> {
  const job: Job = queuedJob();
  await api.ports.jobs.create({ ...job, source: { ...job.source, submittedBy } }, []);
}

async function request(method: string, path: string, caller: string | null) {
  const response = await api.request(path, { method, headers: caller === null ? {} : { 'x-test-caller': caller } });
  const body = (await response.json()) as { readonly error?: { readonly message: string; readonly remedy: string } };
  return { status: response.status, error: body.error };
}

const GUARDED = [
  ['POST', '/v1/jobs/digits:cancel'],
  ['POST', '/v1/jobs/digits:release'],
  ['GET', '/v1/jobs/digits/logs'],
  ['GET', '/v1/jobs/digits/files'],
  ['GET', '/v1/jobs/digits/files/content?name=model.pt'],
  ['GET', '/v1/jobs/digits/definition'],
] as const;

describe('with only_own_jobs', () => {
  it.each(GUARDED)('%s %s is for the submitter and for operators', async (method, path) => {
    await addJob('ada@example.com');
    const denied = await request(method, path, 'eve@example.com');
    expect(denied.status).toBe(403);
    expect(denied.error?.message).toMatch(/^Job digits belongs to ada@example\.com: only they and operators may /);
    expect(denied.error?.remedy).toMatch(/^Ask them or an operator of the deployment/);
    expect((await request(method, path, 'ADA@example.com')).status).not.toBe(403);
    expect((await request(method, path, 'ops@example.com')).status).not.toBe(403);
  });

  it.each(GUARDED)('%s %s of a job without a known submitter is for operators', async (method, path) => {
    await addJob(null);
    const denied = await request(method, path, 'ada@example.com');
    expect(denied).toMatchObject({
      status: 403,
      error: {
        message: expect.stringContaining('submitter of job digits is not known'),
        remedy: expect.stringMatching(/^Ask an operator of the deployment/),
      },
    });
    expect((await request(method, path, 'ops@example.com')).status).not.toBe(403);
  });

  it('a job whose directory holds files of other users, from before, is for operators', async () => {
    const job = queuedJob();
    const source = { ...job.source, submittedBy: 'ada@example.com' };
    const spec = { ...job.spec, jobDir: 'gs://jobs/users/eve@example.com/digits' };
    await api.ports.jobs.create({ ...job, source, spec }, []);
    const denied = await request('GET', '/v1/jobs/digits/files', 'ada@example.com');
    expect(denied).toMatchObject({ status: 403, error: { message: expect.stringContaining('files of other users') } });
    expect((await request('GET', '/v1/jobs/digits/files', 'ops@example.com')).status).toBe(200);
  });

  it('a caller who proves no identity has no jobs', async () => {
    await addJob(null);
    const denied = await request('POST', '/v1/jobs/digits:cancel', null);
    expect(denied).toMatchObject({ status: 403, error: { message: expect.stringContaining('proves no identity') } });
  });

  it.each([
    ['another case', 'DIGITS'],
    ['a slash', 'a%2Fdigits'],
    ['a parent', 'x%2F..%2Fdigits'],
    ['a second action', 'digits:release'],
    ['a null character', 'digits%00'],
  ])('the id of a job with %s is not that of the job', async (_, jobId) => {
    await addJob('ada@example.com');
    for (const caller of ['eve@example.com', 'ops@example.com']) {
      expect((await request('POST', `/v1/jobs/${jobId}:cancel`, caller)).status).toBeOneOf([400, 404]);
      expect((await request('GET', `/v1/jobs/${jobId}/logs`, caller)).status).toBeOneOf([400, 404]);
    }
  });

  it.each(['ada+1@example.com', 'a.da@example.com', 'ada@example.com.evil.example', 'ada@sub.example.com'])(
    '%s is not ada@example.com',
    async (caller) => {
      await addJob('ada@example.com');
      expect((await request('GET', '/v1/jobs/digits/logs', caller)).status).toBe(403);
    },
  );

  it('a caller whose identity cannot be checked reads nothing', async () => {
    await api.close();
    const identifyCaller = () => Promise.reject(new Error('The keys of the issuer cannot be read.'));
    api = await openApiUnderTest({ access: { policy: POLICY, identifyCaller } });
    await addJob('ada@example.com');
    await expect(async () => api.request('/v1/jobs/digits/logs')).rejects.toThrow('The keys of the issuer');
  });

  it('a denied cancel changes nothing', async () => {
    await addJob('ada@example.com');
    await request('POST', '/v1/jobs/digits:cancel', 'eve@example.com');
    expect((await api.ports.jobs.read('digits'))?.job.status).toBe('QUEUED');
  });

  it('all members see all jobs', async () => {
    await addJob('ada@example.com');
    for (const path of ['/v1/jobs', '/v1/jobs/digits', '/v1/jobs/digits/metrics']) {
      expect((await request('GET', path, 'eve@example.com')).status).toBe(200);
    }
  });

  it('the view of a job says who may act, and shows others no lines of its log', async () => {
    const source = { ...queuedJob().source, submittedBy: 'ada@example.com' };
    const cause = { code: 'USER_ERROR', message: 'It failed.', evidence: ['token=abc'] } as const;
    const verdict = { state: 'FAILED', cause } as const;
    const job: Job = Object.assign({}, closedJob(), { source, verdict });
    await api.ports.jobs.create(job, []);
    const viewFor = async (path: string, caller: string) =>
      (await api.request(path, { headers: { 'x-test-caller': caller } })).text();
    for (const path of ['/v1/jobs', '/v1/jobs/digits']) {
      const denied = await viewFor(path, 'eve@example.com');
      expect(denied).toContain(
        'This job belongs to ada@example.com: only they and operators may change it or read its log and files.',
      );
      expect(denied).not.toContain('token=abc');
      expect(await viewFor(path, 'ada@example.com')).toContain('token=abc');
    }
  });

  it('records who submitted a job', async () => {
    const program = await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': '' });
    await api.objects.write({ bucket: 'jobs', name: 'digits.tar.gz' }, program);
    const jobFile = 'module: trainer.task\nmachine: n1-standard-4\npackages: ["gs://jobs/digits.tar.gz"]\n';
    await api.request('/v1/jobs', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-test-caller': 'ada@example.com' },
      body: JSON.stringify({ jobFile, jobId: 'digits' }),
    });
    expect((await api.ports.jobs.read('digits'))?.job.source.submittedBy).toBe('ada@example.com');
  });
});

describe('by default', () => {
  it('a caller that cannot be identified may read and change, and only those who change are identified', async () => {
    await api.close();
    const identified: string[] = [];
    const identifyCaller = async (headers: Headers) => {
      identified.push(String(headers.get('x-test-caller')));
      throw new Error('The keys of the issuer cannot be read.');
    };
    api = await openApiUnderTest({ access: { policy: { onlyOwnJobs: false, operators: [] }, identifyCaller } });
    await addJob('ada@example.com');
    expect((await request('GET', '/v1/jobs/digits', 'reader')).status).toBe(200);
    expect(identified).toEqual([]);
    expect((await request('POST', '/v1/jobs/digits:cancel', 'changer')).status).toBe(200);
    expect(identified).toEqual(['changer']);
  });

  it.each(GUARDED)('%s %s is for all members', async (method, path) => {
    await api.close();
    api = await openApiUnderTest();
    await addJob('ada@example.com');
    expect((await request(method, path, null)).status).not.toBe(403);
  });
});
