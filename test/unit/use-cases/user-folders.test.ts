import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobFilesSchema } from '#shared/protocol/job-files.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const ADAS = 'users/ada@example.com/digits';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

/** Uploads a package with its job file, and returns the job that it starts. */
async function upload(name: string, { jobFile = '', metadata = {} } = {}) {
  const text = `name: again\nmodule: trainer.task\nmachine: n1-standard-4\n${jobFile}`;
  const files = { 'trainer/__init__.py': '', 'trainer/task.py': '', 'job.yaml': text };
  const object = { bucket: 'uploads', name };
  await api.objects.write(object, await packFiles(files), { metadata });
  const generation = (await api.objects.stat(object))?.generation ?? '';
  expect(await handleUpload(api.ports, { ...object, generation }, 1_000)).toMatchObject([{ verdict: 'ACCEPTED' }]);
  return (await api.ports.jobs.read('again'))?.record;
}

describe('a job of a deployment that gave each user a folder', () => {
  beforeEach(async () => {
    const job = queuedJob();
    const source = {
      ...job.source,
      submittedBy: 'ada@example.com',
      uri: 'gs://uploads/users/ada@example.com/d.tar.gz',
    };
    await api.ports.jobs.create({ ...job, source, spec: { ...job.spec, jobDir: `gs://jobs/${ADAS}` } }, []);
    await api.objects.write({ bucket: 'jobs', name: `${ADAS}/model.pt` }, Buffer.from('half a model'));
  });

  it('opens, with its submitter, its directory and the files in it', async () => {
    const view = jobViewSchema.parse(await (await api.request('/v1/jobs/digits')).json());
    expect(view).toMatchObject({ submittedBy: 'ada@example.com', jobDir: `gs://jobs/${ADAS}` });
    const files = jobFilesSchema.parse(await (await api.request('/v1/jobs/digits/files')).json());
    expect(files.entries).toMatchObject([{ name: 'model.pt' }]);
    expect(await (await api.request('/v1/jobs/digits/files/content?name=model.pt')).text()).toBe('half a model');
  });

  it('is resumed by a job that names its directory', async () => {
    expect((await upload('again.tar.gz', { jobFile: `output: gs://jobs/${ADAS}\n` }))?.spec.jobDir).toBe(
      `gs://jobs/${ADAS}`,
    );
  });
});

it.each([
  ['users/ada@example.com/again.tar.gz', {}],
  ['again.tar.gz', { owner: 'ada@example.com', submittedBy: 'ada@example.com' }],
])('the submitter of an upload is not known, whatever its folder and metadata say: %s', async (name, metadata) => {
  const job = await upload(name, { metadata });
  expect([job?.source.submittedBy, job?.spec.jobDir]).toEqual([null, 'gs://jobs/again']);
});
