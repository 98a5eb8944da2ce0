import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  flexStartFile,
  jobFile,
  packProgram,
  startCloudUnderTest,
} from '../support/e2e/cloud-under-test.ts';

/** Capacity for two VMs. */
const NARROW = {
  zones: [{ name: 'us-central1-a', vmsMax: 2 }],
  vmsMax: 9,
  timeouts: { assemblyMs: 4_000, backoffMsMin: 1_000 },
};

/** Keeps its VM until it is stopped. */
const HOLDER = 'import time\ntime.sleep(600)\n';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest(NARROW);
});
afterAll(() => cloud.stop());

async function submit(name: string, file: object, program: string): Promise<void> {
  await cloud.upload(`${name}.tar.gz`, await packProgram(program, file));
}

/** A master and a worker. */
async function submitPair(name: string): Promise<void> {
  const file = flexStartFile(name) as { jobSpec: { workerPoolSpecs: object[] } };
  file.jobSpec.workerPoolSpecs.push({ ...file.jobSpec.workerPoolSpecs[0] });
  await submit(name, file, 'print(1)\n');
}

it('the VMs of a cluster that have started wait for the others for a limited time, then again, until all have', async () => {
  await submit('holder', jobFile('holder'), HOLDER);
  await cloud.awaitJob('holder', ({ state }) => state === 'RUNNING');
  await submitPair('pair');

  const assembling = await cloud.awaitJob('pair', ({ waitingFor }) => /^1 of 2/.test(waitingFor?.message ?? ''));
  expect(assembling).toMatchObject({ state: 'QUEUED', waitingFor: { code: 'CAPACITY_PENDING' } });
  expect(assembling.price.billedSeconds).toBeGreaterThan(0);

  const failed = await cloud.awaitJob('pair', ({ waitingFor }) => waitingFor?.code === 'STOCKOUT');
  expect(failed.waitingFor?.message).toMatch(
    /^Only 1 of 2 VMs .* had started in us-central1-a.*: they were deleted\.$/,
  );

  await cloud.cancel('holder');
  expect(await cloud.awaitJob('pair', undefined, 120_000)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
  expect((await cloud.listVms()).filter(({ jobId }) => jobId === 'pair')).toEqual([]);
  const report = await cloud.awaitReport('pair.tar.gz.report.json');
  expect(report.warnings).toContainEqual(expect.objectContaining({ code: 'FLEX_START_CLUSTER' }));
});
