import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { routeFiles } from '#shared/api/file-routes.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { classifyFile, type JobFiles, jobFilesSchema } from '#shared/protocol/job-files.ts';
import { checkAnswer } from '../support/api/check-answer.ts';
import { makeDirectoryForEachTest } from '../support/contract/directory-object-store-under-test.ts';
import { queuedJob } from '../support/domain/example-job.ts';

const directory = makeDirectoryForEachTest();
let database: Database;
let objects: ObjectStore;
let app: Hono;

beforeEach(async () => {
  database = openDatabase(':memory:');
  const jobs = openSqliteJobStore(database);
  const tunings = openSqliteTuningStore(database);
  await jobs.create(queuedJob(), []);
  const { store } = directory.open();
  store.createBucket('jobs');
  objects = store;
  app = new Hono();
  app.onError((error) => (error instanceof HTTPException ? error.getResponse() : Promise.reject(error)));
  routeFiles(app, { jobs, tunings, objects });
});
afterEach(() => database.close());

async function write(name: string, text = name): Promise<void> {
  await objects.write({ bucket: 'jobs', name }, Buffer.from(text));
}

async function list(query = ''): Promise<JobFiles> {
  const response = await app.request(`/v1/jobs/digits/files${query}`);
  await checkAnswer(`/v1/jobs/digits/files${query}`, 'GET', response);
  return jobFilesSchema.parse(await response.json());
}

function download(name: string, headers: Record<string, string> = {}): Promise<Response> {
  return Promise.resolve(app.request(`/v1/jobs/digits/files/content?name=${encodeURIComponent(name)}`, { headers }));
}

describe('the files of a job', () => {
  it('are listed folder by folder, and only below its own directory', async () => {
    for (const name of [
      'digits/model.pt',
      'digits/ckpt/a/1',
      'digits/ckpt/a/2',
      'digits/ckpt/b',
      'digits2/x',
      'other',
    ]) {
      await write(name);
    }
    const { entries, nextPageToken } = await list();
    expect(entries).toMatchObject([
      { kind: 'FOLDER', name: 'ckpt/', role: 'CHECKPOINT' },
      { kind: 'FILE', name: 'model.pt', role: 'MODEL', sizeBytes: 15 },
    ]);
    expect(nextPageToken).toBeUndefined();
    expect((await list('?prefix=ckpt/')).entries.map(({ name }) => name)).toEqual(['ckpt/a/', 'ckpt/b']);
  });

  it('come page by page, a folder once however much is in it', async () => {
    for (let index = 0; index < 510; index += 1) {
      await write(`digits/logs/${String(index).padStart(5, '0')}`, '');
    }
    await write('digits/a');
    await write('digits/z');
    const names: string[] = [];
    for (let query = '?pageSize=1'; ; ) {
      const { entries, nextPageToken } = await list(query);
      names.push(...entries.map(({ name }) => name));
      if (nextPageToken === undefined) {
        break;
      }
      query = `?pageSize=1&pageToken=${nextPageToken}`;
    }
    expect(names).toEqual(['a', 'logs/', 'z']);
  });

  it.each([
    ['dropforge-logs/digits/attempt-1-master-0-1.log', 'LOG'],
    ['dropforge-manifest.json', 'MANIFEST'],
    ['run/events.out.tfevents.1.host', 'EVENTS'],
    ['checkpoint-500/optimizer.pt', 'CHECKPOINT'],
    ['lightning_logs/version_0/checkpoints/epoch=1.ckpt', 'CHECKPOINT'],
    ['model.ckpt-100.data-00000-of-00001', 'CHECKPOINT'],
    ['export/saved_model.pb', 'MODEL'],
    ['weights.safetensors', 'MODEL'],
    ['notes.txt', 'OTHER'],
  ])('%s is recognized by its name as %s', (name, role) => {
    expect(classifyFile(name)).toBe(role);
  });

  it('are sent as downloads that no browser displays', async () => {
    await write('digits/über "x".html', '<script>alert(1)</script>');
    const response = await download('über "x".html');
    expect(await response.text()).toBe('<script>alert(1)</script>');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'content-disposition': "attachment; filename*=UTF-8''%C3%BCber%20%22x%22.html",
      'content-length': '25',
    });
  });

  it('are sent in part on request', async () => {
    await write('digits/a', '0123456789');
    const middle = await download('a', { range: 'bytes=2-4' });
    expect([middle.status, middle.headers.get('content-range'), await middle.text()]).toEqual([
      206,
      'bytes 2-4/10',
      '234',
    ]);
    expect(await (await download('a', { range: 'bytes=-3' })).text()).toBe('789');
    expect((await download('a', { range: 'bytes=10-' })).status).toBe(416);
    const etag = middle.headers.get('etag') ?? '';
    expect((await download('a', { range: 'bytes=2-4', 'if-range': etag })).status).toBe(206);
    expect((await download('a', { range: 'bytes=2-4', 'if-range': '"replaced"' })).status).toBe(200);
  });

  it.each(['../other', '/other', 'a/../../other', '', '.', 'a//b'])('are not named %s', async (name) => {
    await write('other');
    expect((await download(name)).status).toBe(400);
  });

  it('that do not exist are an answer, not a failure', async () => {
    const response = await download('missing');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { message: 'Job digits has no file missing.' } });
    expect((await app.request('/v1/jobs/none/files')).status).toBe(404);
    expect((await app.request('/v1/jobs/digits/files?prefix=../')).status).toBe(400);
    expect((await app.request(`/v1/jobs/digits/files?prefix=a/&pageToken=${btoa('b')}`)).status).toBe(400);
  });
});
