import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  flexStartFile,
  jobFile,
  packProgram,
  startCloudUnderTest,
} from '../support/e2e/cloud-under-test.ts';

/** Capacity for one VM in the zone, on a machine that runs more. */
const NARROW = { zones: [{ name: 'us-central1-a', vmsMax: 1 }], vmsMax: 9, timeouts: { syncMs: 300 } };

/** Keeps its VM until it is stopped. */
const HOLDER = 'import time\ntime.sleep(600)\n';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest(NARROW);
});
afterAll(() => cloud.stop());

async function submit(name: string, file: object, program = 'print(1)\n'): Promise<void> {
  await cloud.upload(`${name}.tar.gz`, await packProgram(program, file));
}

const vmsOf = async (jobId: string) => (await cloud.listVms()).filter((vm) => vm.jobId === jobId);

it('a job waits for capacity with one unbilled request, and runs when another has ended', async () => {
  await submit('holder', jobFile('holder'), HOLDER);
  await cloud.awaitJob('holder', ({ state }) => state === 'RUNNING');
  await submit('waiting', flexStartFile('waiting'));

  const pending = await cloud.awaitJob('waiting', ({ waitingFor }) => waitingFor !== null);
  expect(pending).toMatchObject({
    state: 'QUEUED',
    waitingFor: { code: 'CAPACITY_PENDING' },
    price: { billedSeconds: 0 },
  });
  expect(await vmsOf('waiting')).toMatchObject([{ status: 'PENDING' }]);

  await cloud.cancel('holder');
  expect(await cloud.awaitJob('waiting')).toMatchObject({
    state: 'SUCCEEDED',
    attempt: 1,
    attempts: [{ zone: 'us-central1-a' }],
  });
});

it('a job canceled while it waits withdraws its request', async () => {
  await cloud.act('/zones/us-central1-a:stockout');
  await submit('fickle', flexStartFile('fickle'));
  await cloud.awaitJob('fickle', ({ waitingFor }) => waitingFor !== null);
  await cloud.cancel('fickle');

  expect(await cloud.awaitJob('fickle')).toMatchObject({ state: 'CANCELLED', price: { billedSeconds: 0 } });
  expect(await vmsOf('fickle')).toEqual([]);
});

it('a job that has waited for its maximum time reports what it waited for', async () => {
  await submit('hasty', flexStartFile('hasty', { maxWaitDuration: '2s' }));

  expect(await cloud.awaitJob('hasty')).toMatchObject({
    state: 'FAILED',
    cause: { code: 'MAX_WAIT_TIME_EXCEEDED', evidence: [expect.stringMatching(/^CAPACITY_PENDING: /)] },
  });
  expect(await vmsOf('hasty')).toEqual([]);
});
