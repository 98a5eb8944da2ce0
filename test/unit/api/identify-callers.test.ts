import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const PROGRAM = { 'trainer/__init__.py': '', 'trainer/task.py': '' };
const JOB_FILE = 'module: trainer.task\nmachine: n1-standard-4\n';
const IN_BUCKET = `${JOB_FILE}packages: ["gs://jobs/digits.tar.gz"]\n`;
const ADA = 'ada@example.com';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest({ identifyCaller: async (headers) => headers.get('x-test-caller') });
  await api.objects.write({ bucket: 'jobs', name: 'digits.tar.gz' }, await packFiles(PROGRAM));
});
afterEach(() => api.close());

async function post(path: string, caller: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-test-caller': caller };
  return api.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

const submitterOf = async (jobId: string) => (await api.ports.jobs.read(jobId))?.record.source.submittedBy;

describe('the submitter of a job', () => {
  it('is the caller who sent its job file', async () => {
    await post('/v1/jobs', ADA, { jobFile: IN_BUCKET, jobId: 'digits' });
    expect(await submitterOf('digits')).toBe(ADA);
  });

  it('is the caller who started an upload, not the one who sent its parts', async () => {
    const path = '/v1/uploads/0123456789abcdef';
    const headers = { 'content-type': 'application/octet-stream', 'x-test-caller': 'eve@example.com' };
    const body = Uint8Array.from(await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE }));
    await api.request(`${path}/parts/1`, { method: 'PUT', headers, body });
    const started = await post(`${path}:start`, ADA, { fileName: 'd.tar.gz', partCount: 1, jobId: 'digits' });
    expect([started.status, await submitterOf('digits')]).toEqual([200, ADA]);
  });

  it('does not change when another caller submits the same, which is rejected', async () => {
    await post('/v1/jobs', ADA, { jobFile: IN_BUCKET, jobId: 'digits' });
    const other = await post('/v1/jobs', 'eve@example.com', { jobFile: IN_BUCKET, jobId: 'digits' });
    expect(await other.json()).toMatchObject({ problems: [{ code: 'JOB_ID_TAKEN' }] });
    expect(await submitterOf('digits')).toBe(ADA);
  });
});

it('the history of a job says who submitted and who cancelled it; lists and the job itself do not have it', async () => {
  await post('/v1/jobs', ADA, { jobFile: IN_BUCKET, jobId: 'digits' });
  const cancelled = await (await post('/v1/jobs/digits:cancel', 'eve@example.com', {})).json();
  const answer = await api.request('/v1/jobs/digits/history');
  const at = { at: 100_000, attempt: 1, placementRound: 1, zone: null };
  const cause = 'CANCELLED_BY_USER';
  expect(await answer.json()).toEqual({
    history: [
      { ...at, event: 'SUBMITTED', from: null, to: 'QUEUED', since: null, cause: null, by: ADA },
      { ...at, event: 'CANCEL_REQUESTED', from: 'QUEUED', to: 'CLOSING', since: 100_000, cause, by: 'eve@example.com' },
    ],
  });
  const { jobs } = await (await api.request('/v1/jobs')).json();
  expect([cancelled.history, jobs[0].jobId, jobs[0].history]).toEqual([undefined, 'digits', undefined]);
  expect((await api.request('/v1/jobs/none/history')).status).toBe(404);
});

it('a caller who cannot be identified reads and changes, and only those who change are identified', async () => {
  await api.close();
  const identified: string[] = [];
  api = await openApiUnderTest({
    identifyCaller: async (headers) => {
      identified.push(String(headers.get('x-test-caller')));
      throw new Error('The keys of the issuer cannot be read.');
    },
  });
  await api.ports.jobs.create(queuedJob(), []);
  const read = await api.request('/v1/jobs/digits', { headers: { 'x-test-caller': 'reader' } });
  expect([read.status, identified]).toEqual([200, []]);
  expect([(await post('/v1/jobs/digits:cancel', 'changer', {})).status, identified]).toEqual([200, ['changer']]);
});
