import { afterEach, beforeEach, expect, it } from 'vitest';
import { NO_RIGHTS } from '#shared/protocol/job-rights.ts';
import { formatSentJob } from '#shared/protocol/job-text.ts';
import { UPLOAD_PART_BYTES_MAX } from '#shared/protocol/submission.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const UPLOAD = 'a0b1c2d3e4f5a6b7';
const JOB_FILE = 'name: digits\nmodule: trainer.task\nmachine: n1-standard-4\n';
const PROGRAM = { 'trainer/__init__.py': '', 'trainer/task.py': 'print("hello")\n' };

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

/** Uploads the bytes in parts of this size; returns their number. */
async function upload(bytes: Uint8Array, partBytes = UPLOAD_PART_BYTES_MAX): Promise<number> {
  const count = Math.ceil(bytes.length / partBytes);
  for (let part = 1; part <= count; part += 1) {
    const response = await api.request(`/v1/uploads/${UPLOAD}/parts/${part}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: Buffer.from(bytes.slice((part - 1) * partBytes, part * partBytes)),
    });
    expect(response.status).toBe(200);
  }
  return count;
}

const given = (partCount: number) => ({ fileName: 'digits.tar.gz', partCount });

it('validates an upload of several parts: verdict, machines and price, and starts nothing', async () => {
  const partCount = await upload(await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE }), 100);
  expect(partCount).toBeGreaterThan(1);

  const { status, body } = await api.post(`/v1/uploads/${UPLOAD}:validate`, given(partCount));

  expect([status, body.verdict, body.jobId, body.problems]).toEqual([200, 'ACCEPTED', 'digits', []]);
  expect(body.plan.machines).toEqual([{ role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null }]);
  expect(body.plan.perHourUsd).toBeCloseTo(0.19, 2);
  expect(body.jobFile.text).toBe(JOB_FILE);
  expect(api.published).toEqual([]);
  expect(await api.ports.jobs.list({ countMax: 10 })).toEqual([]);
});

it('starts an upload under the id that the client chose; repeating the request finds the same job', async () => {
  const partCount = await upload(await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE }));
  const request = { ...given(partCount), jobId: 'mine' };

  const [first, second] = [
    await api.post(`/v1/uploads/${UPLOAD}:start`, request),
    await api.post(`/v1/uploads/${UPLOAD}:start`, request),
  ];

  expect([first.status, first.body.jobId, first.body.state]).toEqual([200, 'mine', 'QUEUED']);
  expect(second).toEqual(first);
  const [job, ...others] = await api.ports.jobs.list({ countMax: 10 });
  expect(others).toEqual([]);
  expect(job?.packages[0]?.uri).toBe(`gs://jobs/mine/packages/${UPLOAD}/digits.tar.gz`);
});

const ACCOUNT = 'trainer@p-labs.iam.gserviceaccount.com';
const FLAGS = {
  fileName: 'job.yaml',
  command: 'jobs submit training',
  flags: [`--service-account=${ACCOUNT}`],
} as const;

it.each([
  ['its job file', { 'job.yaml': `${JOB_FILE}serviceAccount: ${ACCOUNT}\n` }],
  ['a flag', { 'job.json': formatSentJob({ jobFile: JOB_FILE, ...FLAGS }) }],
])('keeps the package of a job with an account by %s in the bucket of that account', async (_, jobFile) => {
  await api.close();
  const rights = { ...NO_RIGHTS, accounts: { [ACCOUNT]: { bucket: 'jobs-of-trainer', secrets: [] } } };
  api = await openApiUnderTest({ intake: { ...exampleIntake, rights } });
  const partCount = await upload(await packFiles({ ...PROGRAM, ...jobFile }));

  await api.post(`/v1/uploads/${UPLOAD}:start`, { ...given(partCount), jobId: 'mine' });

  const [job] = await api.ports.jobs.list({ countMax: 10 });
  expect(job?.packages[0]?.uri).toBe(`gs://jobs-of-trainer/mine/packages/${UPLOAD}/digits.tar.gz`);
  expect(job?.spec.jobDir).toBe('gs://jobs-of-trainer/mine');
});

it('rejects another upload under the id of a job', async () => {
  const partCount = await upload(await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE }));
  await api.post(`/v1/uploads/${UPLOAD}:start`, { ...given(partCount), jobId: 'mine' });

  const other = { ...given(partCount), jobId: 'mine', jobFile: `${JOB_FILE}args: [--epochs=2]\n` };
  const { status, body } = await api.post(`/v1/uploads/${UPLOAD}:start`, other);

  expect([status, body.problems[0].code]).toEqual([400, 'JOB_ID_TAKEN']);
});

it.each([
  ['whose job file is invalid', { jobFile: `${JOB_FILE}machines: n9\n` }],
  ['whose job id is taken', { jobId: 'taken' }],
])('leaves nothing of an upload %s', async (_, wrong) => {
  await api.ports.jobs.create({ ...queuedJob(), jobId: 'taken' }, []);
  const partCount = await upload(await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE }));

  const { status } = await api.post(`/v1/uploads/${UPLOAD}:start`, { ...given(partCount), jobId: 'mine', ...wrong });

  const names = (await api.objects.list({ bucket: 'jobs', prefix: '', countMax: 10 })).map(({ name }) => name);
  expect([status, names.filter((name) => !name.startsWith('_uploads/'))]).toEqual([400, []]);
});

it('takes a job file that the client wrote for a package without one', async () => {
  const partCount = await upload(await packFiles(PROGRAM));

  const without = await api.post(`/v1/uploads/${UPLOAD}:validate`, given(partCount));
  const withFile = await api.post(`/v1/uploads/${UPLOAD}:validate`, { ...given(partCount), jobFile: JOB_FILE });

  expect(without.body).toMatchObject({ verdict: 'REFUSED', problems: [{ code: 'JOB_FILE_MISSING' }] });
  expect(without.body.package.modules).toContain('task');
  expect(withFile.body).toMatchObject({ verdict: 'ACCEPTED', problems: [] });
});

it('reports all findings of a package and its job file at once', async () => {
  const partCount = await upload(await packFiles({ ...PROGRAM, 'job.yaml': 'name: x\nmodule: absent\nmachine: n9\n' }));

  const { body } = await api.post(`/v1/uploads/${UPLOAD}:validate`, given(partCount));

  expect(body.verdict).toBe('REFUSED');
  expect(body.problems.every(({ remedy }: { remedy: string }) => remedy !== '')).toBe(true);
});

it('rejects parts that are too large, invalid ids and missing parts, each with a remedy', async () => {
  const headers = { 'content-type': 'application/octet-stream' };
  const body = Buffer.alloc(UPLOAD_PART_BYTES_MAX + 1);
  const large = await api.request(`/v1/uploads/${UPLOAD}/parts/1`, { method: 'PUT', headers, body });
  const badId = await api.post('/v1/uploads/../x:validate', given(1));
  const escaped = await api.request('/v1/uploads/a%2F..%2Fb/parts/1', { method: 'PUT', headers, body: 'x' });
  const missing = await api.post(`/v1/uploads/${UPLOAD}:validate`, given(2));
  const badName = await api.post(`/v1/uploads/${UPLOAD}:validate`, { fileName: '../x.zip', partCount: 1 });

  expect([large.status, escaped.status, missing.status, badName.status]).toEqual([413, 400, 404, 400]);
  expect(badId.status).toBeGreaterThanOrEqual(400);
  expect(missing.body.error.remedy).toContain('Upload the package again');
});

it('starts a job from a job file whose packages are in a bucket, once', async () => {
  await api.objects.write({ bucket: 'jobs', name: 'p/digits.tar.gz' }, await packFiles(PROGRAM));
  const jobFile = `${JOB_FILE}packages: ["gs://jobs/p/digits.tar.gz"]\n`;

  const first = await api.post('/v1/jobs', { jobFile, jobId: 'clone_1' });
  const again = await api.post('/v1/jobs', { jobFile, jobId: 'clone_1' });
  const other = await api.post('/v1/jobs', { jobFile: `${jobFile}args: [--lr=1]\n`, jobId: 'clone_1' });

  expect([first.status, first.body.jobId]).toEqual([200, 'clone_1']);
  expect(again).toEqual(first);
  expect([other.status, other.body.problems[0].code]).toEqual([400, 'JOB_ID_TAKEN']);
});

it.each([
  ['train.py', 'print(1)\n', 'JOB_FILE_MISSING', /^train\.py is a Python program, and nothing says that it runs/],
  ['train.ipynb', '{"cells": []}', 'NOTEBOOK', /^train\.ipynb is a notebook/],
  ['notes.txt', 'Call Ada.', 'NOT_AN_ARCHIVE', /^notes\.txt is a text file/],
])('says of %s what would run', async (fileName, text, ...expected) => {
  const [code, message] = expected;
  const partCount = await upload(Buffer.from(text));
  const { body } = await api.post(`/v1/uploads/${UPLOAD}:validate`, { fileName, partCount });
  expect(body).toMatchObject({ verdict: 'REFUSED', problems: [{ code, message: expect.stringMatching(message) }] });
});
