import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest();
});

afterAll(() => cloud.stop());

it('a problem found by intake names the field as in the format of the file', async () => {
  await cloud.upload('own/job.yaml', 'module: trainer.task\noutput: gs://no-such-bucket/out\npackages: [p.tar.gz]\n');
  const { problems } = await cloud.awaitReport('own/job.yaml.report.json');
  expect(problems).toMatchObject([{ code: 'JOB_DIR_BUCKET_MISSING', path: 'output' }]);
});

it('YAML and JSON files without a job are ignored, also invalid and empty ones', async () => {
  const others = ['alone/data.json', 'alone/empty.yaml', 'alone/broken.yml'];
  for (const [index, name] of others.entries()) {
    await cloud.upload(name, ['[1, 2', '', 'a: [unclosed'][index] ?? '');
  }
  const countWaiting = async () => {
    const status = (await (await fetch(`${cloud.endpoints.admin}/status`)).json()) as {
      queues: readonly { topic: string; waiting: number }[];
    };
    return status.queues.find(({ topic }) => topic === 'uploads')?.waiting ?? 0;
  };
  await expect.poll(countWaiting).toBe(0);
  const reports = others.map((name) => cloud.readObject(cloud.endpoints.uploadBucket, `${name}.report.json`));
  expect(await Promise.all(reports)).toEqual([undefined, undefined, undefined]);
});
