import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NO_RIGHTS } from '#shared/protocol/job-rights.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const ACCOUNT = 'trainer@p-labs.iam.gserviceaccount.com';
const PACKAGES = 'packages: ["gs://jobs/digits.tar.gz"]\n';
const JOB_FILE = `name: digits\nmodule: trainer.task\nmachine: n1-standard-4\n${PACKAGES}`;
const ADAS = 'gs://jobs/users/ada@example.com';

let api: ApiUnderTest;
beforeEach(async () => {
  const rights = { ...NO_RIGHTS, accounts: { [ACCOUNT]: { bucket: 'jobs-of-trainer', secrets: [] } } };
  api = await openApiUnderTest({
    intake: { ...exampleIntake, hasUserFolders: true, rights },
    access: {
      policy: { onlyOwnJobs: true, operators: [] },
      identifyCaller: async (headers) => ({ email: headers.get('x-test-caller') }),
    },
  });
  api.objects.createBucket('elsewhere');
  const program = await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': '' });
  await api.objects.write({ bucket: 'jobs', name: 'digits.tar.gz' }, program);
});
afterEach(() => api.close());

/** The directory of the job that an upload starts, or the code of the first problem. */
async function upload(name: string, text: string): Promise<string | undefined> {
  const object = { bucket: 'uploads', name };
  await api.objects.write(object, Buffer.from(text));
  const generation = (await api.objects.stat(object))?.generation ?? '';
  const outcome = await handleUpload(api.ports, { ...object, generation }, 1_000);
  return outcome?.verdict === 'ACCEPTED' ? jobDirOf(outcome.jobId) : outcome?.problems[0]?.code;
}

async function jobDirOf(jobId: string): Promise<string | undefined> {
  const { spec } = (await api.ports.jobs.read(jobId))?.job ?? (await api.ports.tunings.read(jobId))?.tuning ?? {};
  return spec?.jobDir;
}

const ofEve = (text: string) => upload('users/eve@example.com/job.yaml', text);

describe('the job directory of a user', () => {
  it('is in the folder of the user by default, and of an account in that of its bucket', async () => {
    expect(await ofEve(JOB_FILE)).toBe('gs://jobs/users/eve@example.com/digits');
    const withAccount = `${JOB_FILE.replace('digits', 'other')}serviceAccount: ${ACCOUNT}\n`;
    expect(await ofEve(withAccount)).toBe('gs://jobs-of-trainer/users/eve@example.com/other');
  });

  it('can be that of an earlier job of the same user, to resume from its checkpoint', async () => {
    await ofEve(JOB_FILE);
    const again = `${JOB_FILE.replace('digits', 'again')}output: gs://jobs/users/eve@example.com/digits\n`;
    expect(await ofEve(again)).toBe('gs://jobs/users/eve@example.com/digits');
  });

  it.each([
    `${ADAS}/digits`,
    `${ADAS}/digits/checkpoints`,
    ADAS,
    `${ADAS}//digits`,
    'gs://jobs/users/Ada@example.com/digits',
    'gs://jobs/users',
    'gs://jobs',
    'gs://jobs/digits',
    'gs://jobs//users/eve@example.com/digits',
    'gs://jobs/users/eve@example.com',
    'gs://elsewhere/users/ada@example.com/digits',
    'gs://elsewhere/digits',
  ])('is refused if it is %s', async (jobDir) => {
    expect(await ofEve(`${JOB_FILE}output: ${jobDir}\n`)).toBe('JOB_DIR_OF_OTHER_USER');
  });

  it('is refused in the dialects, and for a tuning', async () => {
    const aiPlatform = `jobId: digits\ntrainingInput:\n  scaleTier: BASIC\n  pythonModule: trainer.task\n  packageUris: ["gs://jobs/digits.tar.gz"]\n  jobDir: ${ADAS}/digits\n`;
    const vertexAi = `workerPoolSpecs:\n- machineSpec: {machineType: n1-standard-4}\n  replicaCount: 1\n  pythonPackageSpec:\n    executorImageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest\n    packageUris: ["gs://jobs/digits.tar.gz"]\n    pythonModule: trainer.task\nbaseOutputDirectory: {outputUriPrefix: "${ADAS}/digits"}\n`;
    const tuning = `${JOB_FILE}output: ${ADAS}\ntune:\n  metric: accuracy\n  trials: 2\n  parameters:\n    rate: {min: 0.1, max: 1}\n`;
    expect(await ofEve(aiPlatform)).toBe('JOB_DIR_OF_OTHER_USER');
    expect(await ofEve(vertexAi)).toBe('JOB_DIR_OF_OTHER_USER');
    expect(await ofEve(tuning)).toBe('JOB_DIR_OF_OTHER_USER');
  });

  it('is refused through the API, and validated as it will be submitted', async () => {
    const request = (body: object) =>
      api.request('/v1/jobs', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-test-caller': 'eve@example.com' },
        body: JSON.stringify(body),
      });
    const denied = await request({ jobId: 'digits', jobFile: `${JOB_FILE}output: ${ADAS}/digits\n` });
    expect(await denied.json()).toMatchObject({ problems: [{ code: 'JOB_DIR_OF_OTHER_USER' }] });
    expect((await request({ jobId: 'digits', jobFile: JOB_FILE })).status).toBe(200);
    expect(await jobDirOf('digits')).toBe('gs://jobs/users/eve@example.com/digits');
  });
});

it('a user cannot submit what another one has submitted as the same job', async () => {
  expect(await upload('users/ada@example.com/job.yaml', JOB_FILE)).toBe(`${ADAS}/digits`);
  expect(await ofEve(JOB_FILE)).toBe('JOB_ID_TAKEN');
  expect((await api.ports.jobs.read('digits'))?.job.source.submittedBy).toBe('ada@example.com');
});

it('a user cannot take the job id of a trial of another user’s tuning', async () => {
  expect(await ofEve(JOB_FILE.replace('digits', 'search_trial_1'))).toBe('RESERVED_JOB_ID');
  const response = await api.request('/v1/jobs', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-test-caller': 'eve@example.com' },
    body: JSON.stringify({ jobId: 'search_trial_1', jobFile: JOB_FILE }),
  });
  expect(response.status).toBe(400);
});

describe('the job directory of an operator’s message or upload', () => {
  const submit = async (text: string) => {
    const outcome = await handleSubmitMessage(api.ports, { messageId: '1', data: Buffer.from(text) }, 1_000);
    return outcome.verdict === 'ACCEPTED' ? jobDirOf(outcome.jobId) : outcome.problems[0]?.code;
  };

  it('can be that of a user’s job, which it resumes', async () => {
    expect(await submit(`${JOB_FILE}output: ${ADAS}/digits\n`)).toBe(`${ADAS}/digits`);
  });

  it('does not contain the folders of all users, also if it follows from the job id', async () => {
    expect(await upload('job.yaml', `${JOB_FILE}output: gs://jobs\n`)).toBe('JOB_DIR_OF_ALL_USERS');
    expect(await submit(JOB_FILE.replace('digits', 'users'))).toBe('JOB_DIR_OF_ALL_USERS');
  });
});

it('is free where all users share all jobs', async () => {
  await api.close();
  api = await openApiUnderTest();
  const program = await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': '' });
  await api.objects.write({ bucket: 'jobs', name: 'digits.tar.gz' }, program);
  expect(await ofEve(`${JOB_FILE}output: ${ADAS}/digits\n`)).toBe(`${ADAS}/digits`);
  expect(await ofEve(JOB_FILE.replace('digits', 'plain'))).toBe('gs://jobs/plain');
});
