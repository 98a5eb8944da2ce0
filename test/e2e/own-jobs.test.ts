import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packFiles, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const AUDIENCE = 'https://api.test';
const { privateKey, publicKey } = await generateKeyPair('RS256');

let cloud: CloudUnderTest;
beforeAll(async () => {
  const callerKeys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', kty: 'RSA', alg: 'RS256' }] };
  cloud = await startCloudUnderTest({ access: { operators: ['grace@example.com'], callerKeys, audience: AUDIENCE } });
});
afterAll(() => cloud.stop());

async function request(method: string, path: string, email: string | null) {
  const token = new SignJWT({ email, email_verified: true })
    .setProtectedHeader({ alg: 'RS256', kid: 'k' })
    .setIssuer('https://accounts.google.com')
    .setAudience(AUDIENCE)
    .setIssuedAt()
    .setExpirationTime('1h');
  const headers = email === null ? {} : { 'x-dropforge-identity': await token.sign(privateKey) };
  const response = await fetch(`${cloud.endpoints.api}${path}`, { method, headers });
  return { status: response.status, text: await response.text() };
}

it('a job in a user’s folder is cancelled and read by that user and operators, and seen by all', async () => {
  const program = {
    'trainer/__init__.py': '',
    'trainer/task.py': 'import time\nprint("started", flush=True)\ntime.sleep(600)\n',
  };
  const jobFile = 'name: mine\nmodule: trainer.task\nmachine: n1-standard-4\n';
  await cloud.upload('users/ada@example.com/mine.tar.gz', await packFiles({ ...program, 'job.yaml': jobFile }));
  await expect.poll(async () => (await request('GET', '/v1/jobs/mine', null)).text).toContain('RUNNING');

  expect((await request('GET', '/v1/jobs/mine', 'eve@example.com')).text).toContain('"submittedBy":"ada@example.com"');
  for (const caller of ['eve@example.com', null]) {
    expect((await request('GET', '/v1/jobs/mine/logs', caller)).status).toBe(403);
    expect((await request('POST', '/v1/jobs/mine:cancel', caller)).status).toBe(403);
  }
  expect((await request('GET', '/v1/jobs/mine/logs', 'grace@example.com')).status).toBe(200);
  expect((await request('GET', '/v1/jobs/mine', null)).text).toContain('RUNNING');

  expect((await request('POST', '/v1/jobs/mine:cancel', 'ada@example.com')).status).toBe(200);
  await expect.poll(async () => (await request('GET', '/v1/jobs/mine', null)).text).toContain('"CANCELLED"');
});

const TRAINS = `
import os, sys
path = os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'model')
if os.path.exists(path):
    sys.exit(0 if open(path).read() == 'half a model' else 1)
with open(path, 'w') as file:
    file.write('half a model')
raise RuntimeError('hunter2-was-printed')
`;

async function packJob(name: string, output = ''): Promise<Uint8Array> {
  const jobFile = `name: ${name}\nmodule: trainer.task\nmachine: n1-standard-4\n${output}`;
  return packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': TRAINS, 'job.yaml': jobFile });
}

it('a job saves into the folder of its user, who resumes from there; others see no line of its log', async () => {
  const { jobsBucket } = cloud.endpoints;
  await cloud.upload('users/ada@example.com/failed.tar.gz', await packJob('failed'));
  await cloud.awaitJob('failed');

  expect(await cloud.readObject(jobsBucket, 'users/ada@example.com/failed/model')).toBe('half a model');
  for (const path of ['/v1/jobs', '/v1/jobs/failed']) {
    const shown = (await request('GET', path, 'eve@example.com')).text;
    expect(shown).toContain('"FAILED"');
    expect(shown).not.toContain('hunter2');
    expect((await request('GET', path, 'ada@example.com')).text).toContain('hunter2');
  }

  const output = `output: gs://${jobsBucket}/users/ada@example.com/failed\n`;
  await cloud.upload('users/eve@example.com/stolen.tar.gz', await packJob('stolen', output));
  const report = await cloud.awaitReport('users/eve@example.com/stolen.tar.gz.report.json');
  expect([report.verdict, report.problems[0]?.code]).toEqual(['REFUSED', 'JOB_DIR_OF_OTHER_USER']);

  await cloud.upload('users/ada@example.com/resumed.tar.gz', await packJob('resumed', output));
  expect((await cloud.awaitJob('resumed')).state).toBe('SUCCEEDED');
});
