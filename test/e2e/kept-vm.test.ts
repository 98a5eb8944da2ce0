import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli/test-cloud.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const FAILS = `
import os
with open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/model', 'w') as file:
    file.write('half a model')
raise RuntimeError('the loss exploded')
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({
    timeouts: { syncMs: 300, heartbeatMs: 200, sweepMs: 200, keptCheckMs: 300 },
  });
});
afterAll(() => cloud.stop());

async function submitFailing(name: string, keepOnFailure: string) {
  const job = { name, module: 'trainer.task', keepOnFailure };
  await cloud.upload(`${name}.tar.gz`, await packProgram(FAILS, job));
  return cloud.awaitJob(name);
}

const vmsOf = async (name: string) => (await cloud.listVms()).filter(({ jobId }) => jobId === name);

const awaitClosed = (name: string) => cloud.awaitJob(name, ({ endTime }) => endTime !== null);

describe('a failed program with keepOnFailure', () => {
  it('keeps its VM until it is released; the failure, its output and its cost are known before', async () => {
    const job = await submitFailing('released', '30m');
    expect(job).toMatchObject({ state: 'FAILED', endTime: null, kept: { replica: 'master-0', releaseTime: null } });
    expect(Date.parse(job.kept?.untilTime ?? '') - Date.parse(job.kept?.sinceTime ?? '')).toBe(1_800_000);
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'released/model')).toBe('half a model');
    expect(await vmsOf('released')).toHaveLength(1);

    const described = await runCli(['jobs', 'describe', 'released'], { dataDir: cloud.dataDir });
    expect(described.stdout).toMatch(/is kept until \d\d:\d\d \(.* left\), \$0\.\d+\/h\n.*dropforge exec released/);

    const { code, stdout } = await runCli(['jobs', 'release', 'released'], { dataDir: cloud.dataDir });
    expect([code, stdout]).toEqual([0, expect.stringContaining('is being deleted')]);
    expect((await awaitClosed('released')).kept?.releaseTime).not.toBeNull();
    expect(await vmsOf('released')).toEqual([]);
    await cloud.awaitReport('released.tar.gz.report.json', ({ job }) => job?.endTime !== null);
  });

  it('keeps it for its time, and not longer', async () => {
    const job = await submitFailing('timed', '3s');
    const { sinceTime, untilTime } = job.kept ?? { sinceTime: '', untilTime: '' };
    const endedAt = Date.parse((await awaitClosed('timed')).endTime ?? '');
    expect(endedAt).toBeGreaterThanOrEqual(Date.parse(sinceTime) + 2_500);
    expect(endedAt).toBeLessThan(Date.parse(untilTime) + 60_000);
    expect(await vmsOf('timed')).toEqual([]);
  });

  it('closes when its VM is preempted', async () => {
    const job = await submitFailing('preempted', '30m');
    await runCli(['admin', 'preempt', job.kept?.vmName ?? ''], { dataDir: cloud.dataDir });
    expect(await awaitClosed('preempted')).toMatchObject({ state: 'FAILED', cause: { code: 'PROGRAM_FAILED' } });
  });

  it('is refused if it is kept for longer than allowed', async () => {
    const job = { name: 'long', module: 'trainer.task', keepOnFailure: '2h' };
    await cloud.upload('long.tar.gz', await packProgram(FAILS, job));
    const report = await cloud.awaitReport('long.tar.gz.report.json');
    expect(report.problems).toMatchObject([{ code: 'KEPT_TOO_LONG', remedy: expect.stringContaining('60m or less') }]);
  });
});
