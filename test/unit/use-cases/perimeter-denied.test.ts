import { expect, it } from 'vitest';
import { createOnSubmit } from '#functions/on-submit.ts';
import { createOnUpload } from '#functions/on-upload.ts';
import { pushSchema } from '#functions/pushed-message.ts';
import { PERIMETER_SETTLING_MS_MAX } from '#shared/domain/timeouts.ts';
import { PerimeterDeniedError } from '#shared/ports/object-store.ts';
import { openApiUnderTest } from '../../support/api/api-under-test.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const JOB_FILE = 'name: digits\nmodule: trainer.task\nmachine: n1-standard-4\noutput: gs://inside/run\n';

/** A deployment whose perimeter denies its functions the bucket `inside`. */
async function openDenied() {
  const { objects, close } = await openApiUnderTest();
  const denied = {
    ...objects,
    async hasBucket(bucket: string): Promise<boolean> {
      throw new PerimeterDeniedError({ bucket, name: '' }, { uniqueId: 'HICD57WF_a1-x' });
    },
  };
  const api = await openApiUnderTest({ objects: denied });
  return { api, objects, close: () => Promise.all([api.close(), close()]) };
}

it('redelivers an upload and a message that a perimeter denies for half an hour, then refuses them', async () => {
  const { api, objects, close } = await openDenied();
  const text = Buffer.from(
    'name: digits\nimage: ghcr.io/o/digits:1\nmachine: n1-standard-4\noutput: gs://inside/run\n',
  );
  const info = await objects.write({ bucket: 'uploads', name: 'job.yaml' }, text);
  const publishedAt = 1_000;
  const deliver = (createFunction: typeof createOnUpload, data: Buffer, now: number) => {
    const publishTime = new Date(publishedAt).toISOString();
    const message = { messageId: 'm1', data: data.toString('base64'), publishTime };
    const pushed = pushSchema.parse({ message, subscription: 's' });
    return createFunction({ ...api.ports, clock: { now: () => now } })(Object(pushed));
  };
  for (const [name, createFunction, data] of [
    ['job.yaml', createOnUpload, Buffer.from(JSON.stringify(info))],
    ['submitted/m1', createOnSubmit, text],
  ] as const) {
    const reportOf = async () => {
      const stream = await objects.read({ bucket: 'uploads', name: `${name}.report.json` });
      return JSON.parse(Buffer.concat((await stream?.toArray()) ?? []).toString());
    };
    const problems = [{ code: 'PERIMETER_DENIED' }];
    const settledAt = publishedAt + PERIMETER_SETTLING_MS_MAX;
    await expect(deliver(createFunction, data, settledAt - 1)).rejects.toThrow('redelivered');
    expect(await reportOf()).toMatchObject({ verdict: 'WAITING', problems });
    await deliver(createFunction, data, settledAt);
    expect(await reportOf()).toMatchObject({ verdict: 'REFUSED', problems });
  }
  await close();
});

it('refuses a job whose directory is inside a service perimeter, with the unique id of the denial', async () => {
  const { api, close } = await openDenied();
  const bytes = await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': '', 'job.yaml': JOB_FILE });
  await api.request('/v1/uploads/a0b1c2d3e4f5a6b7/parts/1', {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: Buffer.from(bytes),
  });

  const given = { fileName: 'digits.tar.gz', partCount: 1, jobId: 'digits' };
  const { status, body } = await api.post('/v1/uploads/a0b1c2d3e4f5a6b7:start', given);

  expect(status).toBe(400);
  expect(body.problems).toMatchObject([
    { code: 'PERIMETER_DENIED', message: expect.stringContaining('with the unique id HICD57WF_a1-x') },
  ]);
  await close();
});
