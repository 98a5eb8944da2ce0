import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

/**
 * Prints a loss that is NaN from step 12 on; saves a checkpoint at every fourth step until then, and continues from it.
 * Its first attempt has more steps than pass until a loss is lost.
 */
const LOSES = `
import os, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
start = int(open(out + '/checkpoint').read()) if os.path.exists(out + '/checkpoint') else 0
print('starting at', start, flush=True)
for step in range(start, int(sys.argv[1]) if start else max(int(sys.argv[1]), int(sys.argv[2]))):
    time.sleep(0.15)
    if step % 4 == 0 and step <= 16:
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
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 300 }, vmsMax: 4 });
});

afterAll(() => cloud.stop());

async function run(name: string, program: string, fields: object) {
  await cloud.upload(`${name}.tar.gz`, await packProgram(program, { name, module: 'trainer.task', ...fields }));
  return cloud.awaitJob(name);
}

describe('a loss that becomes NaN', () => {
  it('ends the job by default, with its checkpoint saved and a remedy', async () => {
    const job = await run('nan_stops', LOSES, { args: ['600', '0'], retries: 2 });
    expect(job).toMatchObject({
      state: 'FAILED',
      attempt: 1,
      cause: {
        code: 'METRIC_NOT_FINITE',
        class: 'user',
        label: 'nan_loss',
        remedy: expect.stringContaining('Lower the learning rate'),
        evidence: expect.arrayContaining(['log/loss = NaN at step 12']),
      },
      health: [{ code: 'NON_FINITE', replica: 'master-0', untilTime: null }],
    });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'nan_stops/checkpoint')).toMatch(/^\d+$/);
    const lines = (await cloud.readLog('nan_stops')).map(({ text }) => text);
    expect(lines).toContainEqual(expect.stringContaining('Health: NON_FINITE'));
  });

  it('is a warning of a job that is to go on, never a plain success', async () => {
    const job = await run('nan_warns', LOSES, { args: ['18', '0'], health: { nonFinite: 'warn' } });
    expect(job).toMatchObject({
      state: 'SUCCEEDED',
      cause: null,
      warnings: [
        { code: 'METRIC_NOT_FINITE', message: expect.stringContaining('The metric log/loss = NaN at step 12') },
      ],
      health: [{ code: 'NON_FINITE' }],
    });
  });
});

describe('a loss that becomes NaN in a job that asks for a rollback', () => {
  it('continues from the last checkpoint before that, and keeps the newer one under another name', async () => {
    const healed = LOSES.replace("'nan' if step >= 12", "'nan' if step >= 12 and start == 0");
    const job = await run('rolls_back', healed, { args: ['30', '600'], health: { nonFinite: 'rollback' } });
    expect(job).toMatchObject({
      state: 'SUCCEEDED',
      attempt: 2,
      attempts: [{ cause: 'ROLLED_BACK' }, { cause: null }],
    });
    const starts = (await cloud.readLog('rolls_back')).flatMap(
      ({ text }) => /^starting at (\d+)/.exec(text)?.[1] ?? [],
    );
    expect(starts).toHaveLength(2);
    expect(Number(starts[1])).toBeGreaterThan(3);
    expect(Number(starts[1])).toBeLessThanOrEqual(12);
    const kept = await cloud.readObject(
      cloud.endpoints.jobsBucket,
      'rolls_back/dropforge-rolled-back/attempt-1/checkpoint',
    );
    expect(Number(kept)).toBeGreaterThanOrEqual(12);
    expect(job.attempts[0]?.message).toContain('newer files are kept in gs://');
  });

  it('ends after two rollbacks', async () => {
    const bad = LOSES.replace("'nan' if step >= 12", "'nan' if step >= 12 or 0 < start < step");
    const job = await run('rolls_back_twice', bad, { args: ['600', '0'], health: { nonFinite: 'rollback' } });
    expect(job).toMatchObject({
      state: 'FAILED',
      cause: {
        code: 'METRIC_NOT_FINITE',
        message: expect.stringContaining('It was restarted 2 times for this before'),
      },
    });
    const starts = (await cloud.readLog('rolls_back_twice')).flatMap(
      ({ text }) => /^starting at (\d+)/.exec(text)?.[1] ?? [],
    );
    expect(starts).toHaveLength(3);
    expect(Number(starts[2])).toBeLessThanOrEqual(Number(starts[1]));
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
