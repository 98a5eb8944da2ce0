import { expect, it } from 'vitest';
import { PerimeterDeniedError } from '#shared/ports/object-store.ts';
import { openApiUnderTest } from '../../support/api/api-under-test.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const JOB_FILE = 'name: digits\nmodule: trainer.task\nmachine: n1-standard-4\noutput: gs://inside/run\n';

it('refuses a job whose directory is inside a service perimeter, with the unique id of the denial', async () => {
  const other = await openApiUnderTest();
  const api = await openApiUnderTest({
    objects: {
      ...other.objects,
      async hasBucket(bucket) {
        throw new PerimeterDeniedError({ bucket, name: '' }, { uniqueId: 'HICD57WF_a1-x' });
      },
    },
  });
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
  await Promise.all([api.close(), other.close()]);
});
