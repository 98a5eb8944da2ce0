import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

/** Prints a loss that is NaN from step 3 on; saves a checkpoint at each step, and continues from it. */
const LOSES = `
import os, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
start = int(open(out + '/checkpoint').read()) if os.path.exists(out + '/checkpoint') else 0
print('starting at', start, flush=True)
for step in range(start, int(sys.argv[1])):
    time.sleep(0.15)
    with open(out + '/checkpoint.new', 'w') as file:
        file.write(str(step))
    os.replace(out + '/checkpoint.new', out + '/checkpoint')
    print('step', step, 'loss:', 'nan' if step >= 12 else 1 / (step + 1), flush=True)
`;

/** Hangs in its first attempt, or in every one. */
const HANGS = `
import os, sys, threading
out = os.environ['DROPFORGE_OUTPUT_DIR']
has_run = os.path.exists(out + '/ran')
open(out + '/ran', 'w').close()
if not has_run or sys.argv[1] == 'always':
    threading.Event().wait()
print('trained', flush=True)
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ syncSeconds: 0.3, vmsMax: 4 });
});

afterAll(() => cloud.stop());

async function run(name: string, program: string, fields: object) {
  await cloud.upload(`${name}.tar.gz`, await packProgram(program, { name, module: 'trainer.task', ...fields }));
  return cloud.awaitJob(name);
}

describe('a loss that becomes NaN', () => {
  it('ends the job by default, with its checkpoint saved and a remedy', async () => {
    const job = await run('nan_stops', LOSES, { args: ['600'], retries: 2 });
    expect(job).toMatchObject({
      state: 'FAILED',
      attempt: 1,
      cause: {
        code: 'METRIC_NOT_FINITE',
        class: 'user',
        label: 'nan_loss',
        remedy: expect.stringContaining('Lower the learning rate'),
        evidence: expect.arrayContaining(['step 12 loss: nan']),
      },
      health: [{ code: 'NON_FINITE', replica: 'master-0', untilTime: null }],
    });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'nan_stops/checkpoint')).toMatch(/^\d+$/);
    const lines = (await cloud.readLog('nan_stops')).map(({ text }) => text);
    expect(lines).toContainEqual(expect.stringContaining('Health: NON_FINITE'));
  });

  it('is a warning of a job that is to go on, never a plain success', async () => {
    const job = await run('nan_warns', LOSES, { args: ['18'], health: { nonFinite: 'warn' } });
    expect(job).toMatchObject({
      state: 'SUCCEEDED',
      cause: null,
      warnings: [{ code: 'METRIC_NOT_FINITE', message: expect.stringContaining('A loss in the log was not finite') }],
      health: [{ code: 'NON_FINITE' }],
    });
  });
});

describe('a program that stalls', () => {
  it('continues in a new attempt if the job asks for that', async () => {
    const job = await run('stalls_once', HANGS, {
      args: ['once'],
      health: { stalled: 'restart', stalledAfter: '10s' },
    });
    expect(job).toMatchObject({
      state: 'SUCCEEDED',
      attempt: 2,
      attempts: [{ cause: 'STALL_RESTARTED' }, { cause: null }],
    });
  });

  it('ends the job if it asks for that, with the stack as evidence', async () => {
    const job = await run('stalls', HANGS, { args: ['always'], health: { stalled: 'stop', stalledAfter: '10s' } });
    expect(job).toMatchObject({
      state: 'FAILED',
      cause: { code: 'TRAINING_STALLED', evidence: expect.arrayContaining([expect.stringContaining('in <module>')]) },
    });
  });
});
