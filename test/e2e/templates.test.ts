import { afterAll, beforeAll, it } from 'vitest';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { trainTemplate } from '../support/e2e/train-template.ts';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 300, heartbeatMs: 200 }, preemptionNoticeSeconds: 1 });
});

afterAll(() => cloud.stop());

it('the program of `init python` passes its test, and resumes with `run .` after a preemption', async () => {
  await trainTemplate(cloud, { template: 'python', python: 'python3', epochs: 1000 });
});
