import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

/** The folder of a program `gcsfuse` that mounts with rclone. */
const STAND_IN = join(import.meta.dirname, '../support/gcsfuse');

const PROGRAM = `
import os, subprocess, sys, time

job, role = sys.argv[1], os.environ.get('RANK', '0')

def shell(command):
    return subprocess.run(['sh', '-c', command], check=True, stdout=subprocess.PIPE, text=True).stdout

def wait_for(path):
    while subprocess.run(['test', '-s', path]).returncode:
        time.sleep(0.1)

shell('echo shell %s > /gcs/other-data/%s-%s.txt' % (role, os.path.basename(job), role))
with open('/gcs/other-data/python-%s-%s.txt' % (os.path.basename(job), role), 'w') as file:
    file.write('python')
shell('mkdir -p %s/tmp-%s && echo %s > %s/tmp-%s/shard && mv %s/tmp-%s %s/done-%s' % ((job, role) + (role,) + (job, role) * 3))
for other in range(int(os.environ.get('WORLD_SIZE', '1'))):
    wait_for('%s/done-%s/shard' % (job, other))
print('saw', shell('ls %s' % job).split())
`;

const canMount = ['rclone version', 'fusermount3 --version', 'unshare --mount test -w /dev/fuse'].every((command) => {
  try {
    execFileSync('sh', ['-c', command], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

if (canMount) {
  describe('a program of the embedded cloud, with a program gcsfuse', testMount);
} else {
  leaveOut('rclone and FUSE', 'buckets at /gcs for every process');
}

function testMount(): void {
  let cloud: CloudUnderTest;

  beforeAll(async () => {
    const environment = { ...process.env, PATH: `${STAND_IN}:${process.env.PATH}` };
    cloud = await startCloudUnderTest({ vmsMax: 2 }, { environment });
    const body = JSON.stringify({ name: 'other-data' });
    await fetch(`${cloud.endpoints.storage}/storage/v1/b`, { method: 'POST', body });
  });
  afterAll(() => cloud.stop());

  async function run(jobId: string, fields: object = {}): Promise<void> {
    const args = [`/gcs/${cloud.endpoints.jobsBucket}/${jobId}`];
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(PROGRAM, jobFile(jobId, { args, ...fields })));
    const ended = await cloud.awaitJob(jobId, undefined, 120_000);
    expect(ended.state, JSON.stringify([ended.cause, await cloud.readLog(jobId)])).toBe('SUCCEEDED');
  }

  const awaitObject = (bucket: string, name: string) =>
    until(`object ${name}`, async () => await cloud.readObject(bucket, name));

  it('writes to every bucket from a shell and from Python, and its job directory is its output', async () => {
    await run('alone');
    expect(await awaitObject('other-data', 'alone-0.txt')).toBe('shell 0\n');
    expect(await awaitObject('other-data', 'python-alone-0.txt')).toBe('python');
    expect(await awaitObject(cloud.endpoints.jobsBucket, 'alone/done-0/shard')).toBe('0\n');
    const manifest = await cloud.readObject(cloud.endpoints.jobsBucket, 'alone/dropforge-manifest.json');
    expect(manifest).toContain('done-0/shard');
  });

  it('shares the job directory with the other replicas, which see each file once it is closed', async () => {
    await run('both', {
      scaleTier: 'CUSTOM',
      masterType: 'n1-standard-4',
      workerType: 'n1-standard-4',
      workerCount: 1,
    });
    expect(await awaitObject(cloud.endpoints.jobsBucket, 'both/done-0/shard')).toBe('0\n');
    expect(await awaitObject(cloud.endpoints.jobsBucket, 'both/done-1/shard')).toBe('1\n');
    expect(await awaitObject('other-data', 'both-1.txt')).toBe('shell 1\n');
  });
}
