import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const JOB_FILE = 'module: trainer.task\nmachine: n1-standard-4\n';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

/** Uploads a package with its job file, and returns who submitted the job. */
async function submitterOf(name: string, hasUserFolders: boolean, metadata = {}): Promise<string | null | undefined> {
  const files = { 'trainer/__init__.py': '', 'trainer/task.py': '', 'job.yaml': `name: digits\n${JOB_FILE}` };
  const object = { bucket: 'uploads', name };
  await api.objects.write(object, await packFiles(files), { metadata });
  const info = await api.objects.stat(object);
  const ports = { ...api.ports, intake: { ...exampleIntake, hasUserFolders } };
  const outcome = await handleUpload(ports, { ...object, generation: info?.generation ?? '' }, 1_000);
  expect(outcome?.verdict).toBe('ACCEPTED');
  return (await api.ports.jobs.read('digits'))?.job.source.submittedBy;
}

describe('the submitter of an upload', () => {
  it.each([
    ['users/ada@example.com/digits.tar.gz', 'ada@example.com'],
    ['users/ada@example.com/deep/digits/digits.tar.gz', 'ada@example.com'],
    ['users/Ada@Example.com/digits.tar.gz', 'ada@example.com'],
  ])('%s is the user whose folder it is in', async (name, email) => {
    expect(await submitterOf(name, true)).toBe(email);
  });

  it.each([
    'digits.tar.gz',
    'users/digits.tar.gz',
    'users/ada/digits.tar.gz',
    'other/users/ada@example.com/digits.tar.gz',
    'users//ada@example.com/digits.tar.gz',
    'users/eve@example.com@ada@example.com/digits.tar.gz',
  ])('%s is not known', async (name) => {
    expect(await submitterOf(name, true)).toBeNull();
  });

  it.each([
    ['digits.tar.gz', null],
    ['users/eve@example.com/digits.tar.gz', 'eve@example.com'],
  ])('%s is not whom its metadata names', async (name, email) => {
    const claims = { owner: 'ada@example.com', submittedBy: 'ada@example.com', 'x-goog-meta-owner': 'ada@example.com' };
    expect(await submitterOf(name, true, claims)).toBe(email);
  });

  it('is not known where every submitter may write every folder', async () => {
    expect(await submitterOf('users/ada@example.com/digits.tar.gz', false)).toBeNull();
  });
});
