import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packProgram, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';

/** The master saves steps, each with its commit file last; the worker waits for them, and ends with the second one. */
const PROGRAM = `
import os, sys, time
path = sys.argv[1]
if os.environ['RANK'] == '0':
    for step in (1, 2):
        os.makedirs(f'{path}/{step}')
        for name in ('data', 'commit'):
            with open(f'{path}/{step}/{name}', 'w') as file:
                file.write(str(step))
else:
    for step in (1, 2):
        while not os.path.isdir(f'{path}/{step}') or 'commit' not in os.listdir(f'{path}/{step}'):
            time.sleep(0.1)
        with open(f'{path}/{step}/data') as file:
            print('saw', file.read(), flush=True)
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ vmsMax: 4, timeouts: { syncMs: 300 } });
});
afterAll(() => cloud.stop());

it('replicas see at /gcs what others have saved in the job directory, the commit file last', async () => {
  const jobId = 'shared';
  const args = [`/gcs/${cloud.endpoints.jobsBucket}/${jobId}/steps`];
  const job = { name: jobId, module: 'trainer.task', args, workers: 1 };
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(PROGRAM, job));
  await until('the last step at the worker', async () =>
    (await cloud.readLog(jobId)).some(({ text }) => text === 'saw 2') ? true : undefined,
  );
  expect(await cloud.awaitJob(jobId)).toMatchObject({ state: 'SUCCEEDED' });
});
