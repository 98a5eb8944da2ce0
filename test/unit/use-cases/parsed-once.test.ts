import { Session } from 'node:inspector/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const PROGRAM = { 'trainer/__init__.py': '', 'trainer/task.py': 'print("hello")\n' };
const JOB_FILE = 'name: digits\nmodule: trainer.task\nmachine: n1-standard-4\n';
const NAMES_PACKAGE = `${JOB_FILE}packages: [digits.tar.gz]\n`;
const UPLOAD_ID = 'a0b1c2d3e4f5a6b7';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

/** How often V8 has run the parser of job files while `run` ran. */
async function countParses(run: () => Promise<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await run();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const parser = result.filter(({ url }) => url.endsWith('/job-file/parser/parse-source.ts'));
    const runs = parser
      .flatMap(({ functions }) => functions)
      .filter(({ functionName }) => functionName === 'parseSource');
    return runs.reduce((sum, { ranges: [whole] }) => sum + (whole?.count ?? 0), 0);
  } finally {
    session.disconnect();
  }
}

async function write(name: string, body: string | Uint8Array): Promise<ObjectInfo> {
  const info = await api.objects.write({ bucket: 'uploads', name }, Buffer.from(body));
  if (typeof info === 'string') {
    throw new Error(info);
  }
  return info;
}

async function upload(name: string, body: string | Uint8Array): Promise<void> {
  const info = await write(name, body);
  expect(await handleUpload(api.ports, info, 1_000)).toMatchObject([{ verdict: 'ACCEPTED' }]);
}

/** Uploads a package through the API, and validates or starts it. */
async function submit(method: 'validate' | 'start'): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  const body = Buffer.from(await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE }));
  await api.request(`/v1/uploads/${UPLOAD_ID}/parts/1`, { method: 'PUT', headers, body });
  const given = { fileName: 'digits.tar.gz', partCount: 1, jobId: 'digits' };
  expect((await api.post(`/v1/uploads/${UPLOAD_ID}:${method}`, given)).status).toBe(200);
}

describe('a job file is parsed once', () => {
  it.each<readonly [string, () => Promise<void>]>([
    [
      'that is at the root of an uploaded package',
      async () => upload('digits.tar.gz', await packFiles({ ...PROGRAM, 'job.yaml': JOB_FILE })),
    ],
    [
      'that is uploaded after its package',
      async () => {
        await write('digits.tar.gz', await packFiles(PROGRAM));
        await upload('train.yaml', NAMES_PACKAGE);
      },
    ],
    [
      'that waits for its package',
      async () => {
        await write('train.yaml', NAMES_PACKAGE);
        await upload('digits.tar.gz', await packFiles(PROGRAM));
      },
    ],
    [
      'that is published',
      async () => {
        await write('digits.tar.gz', await packFiles(PROGRAM));
        await handleSubmitMessage(api.ports, { messageId: 'm1', data: Buffer.from(NAMES_PACKAGE) }, 1_000);
      },
    ],
    ['whose package is validated through the API', () => submit('validate')],
    ['whose package is started through the API', () => submit('start')],
  ])('%s', async (_, run) => {
    expect(await countParses(run)).toBe(1);
  });
});
