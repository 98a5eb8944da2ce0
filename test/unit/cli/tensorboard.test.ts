import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobView } from '../../../shared/protocol/job-view.ts';
import { replicaOf, runCli, startTestCloud, type TestCloud, tuningOf, viewOf } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => {
  vi.unstubAllEnvs();
  return cloud.close();
});

function tensorboard(overrides: Partial<JobView>, ...flags: string[]) {
  cloud.jobs.set('digits', [viewOf('digits', overrides)]);
  return runCli(['tensorboard', 'digits', ...flags], { dataDir: cloud.dataDir, cwd: cloud.dataDir });
}

const COPY = 'npx dropforge cp -r gs://jobs/digits outputs/ && tensorboard --logdir outputs/digits';

describe('dropforge tensorboard', () => {
  it.each([{ state: 'SUCCEEDED' }, { state: 'RUNNING', tuning: tuningOf({}) }])(
    'prints how to read a copy of the job directory: %j',
    async (overrides) => {
      expect(await tensorboard(overrides)).toMatchObject({ code: 0, stdout: `${COPY}\n` });
    },
  );

  it('prints one command for the shell, whatever the name of the job directory', async () => {
    expect((await tensorboard({ jobDir: "gs://jobs/it's 1" })).stdout).toBe(
      `npx dropforge cp -r 'gs://jobs/it'\\''s 1' outputs/ && tensorboard --logdir 'outputs/it'\\''s 1'\n`,
    );
  });

  it.each([
    { what: 'none', replicas: [] },
    { what: 'that of an earlier attempt', replicas: [replicaOf()] },
    { what: 'a worker', replicas: [replicaOf({ replica: 'worker-0', attempt: 2 })] },
  ])('says that the VM of the master has not started: $what', async ({ replicas }) => {
    const { code, stderr } = await tensorboard({ state: 'QUEUED', attempt: 2, replicas });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('the job is QUEUED') });
  });

  it('prints the job directory of a job on Google Cloud, which TensorBoard reads itself', async () => {
    const { api, storage } = cloud.endpoints;
    const deployment = join(cloud.dataDir, 'deployment.json');
    const buckets = { uploadBucket: 'uploads', jobsBucket: 'jobs' };
    await writeFile(deployment, JSON.stringify({ projectId: 'my-project', api, storage, ...buckets }));
    await writeFile(join(cloud.dataDir, 'gcloud'), '#!/bin/sh\necho token\n', { mode: 0o755 });
    vi.stubEnv('PATH', `${cloud.dataDir}${delimiter}${process.env.PATH}`);
    vi.stubEnv('CLOUDSDK_CONFIG', join(cloud.dataDir, 'none'));
    vi.stubEnv('METADATA_SERVER_DETECTION', 'none');
    const running: Partial<JobView> = { state: 'RUNNING', replicas: [replicaOf()] };
    const { json } = await tensorboard(running, '--deployment', deployment, '--format=json');
    expect(json()).toEqual([{ jobId: 'digits', command: 'tensorboard --logdir gs://jobs/digits' }]);
  });
});
