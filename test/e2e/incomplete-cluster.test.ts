import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FunctionPorts } from '#functions/function-ports.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';

/** Does not communicate with the other replicas. */
const STANDALONE_PROGRAM = "import os\nprint('rank', os.environ['RANK'], flush=True)\n";

const SETTING_UP: readonly Replica['phase'][] = ['BOOTING', 'DOWNLOADING', 'INSTALLING'];

let cloud: CloudUnderTest;

beforeAll(async () => {
  const quotas = [{ metric: 'SSD_TOTAL_GB', region: 'europe-west4', limit: 150 }];
  const config = { vmsMax: 3, quotas, timeouts: { syncMs: 300 }, stopGraceSeconds: 0.2 };
  cloud = await startCloudUnderTest(config, { wrapPorts: failLate });
});
afterAll(() => cloud.stop());

/** Delays create failures until the master of the job is ready to train, as a stockout may be delayed. */
function failLate(ports: FunctionPorts): FunctionPorts {
  async function isMasterReady(jobId: string, since: number): Promise<boolean> {
    const isWaiting = (await ports.jobs.read(jobId))?.record.status === 'PREPARING';
    const isReady = ({ replica, phase, heardAt }: Replica) =>
      replica === 'master-0' && heardAt >= since && !SETTING_UP.includes(phase);
    return !isWaiting || (await ports.replicas.listByAttempt({ jobId, attempt: 1 })).some(isReady);
  }
  return {
    ...ports,
    vms: {
      ...ports.vms,
      // On Google Cloud, it is not known before that a limit is exceeded.
      findShortage: async () => undefined,
      async create(request) {
        const since = ports.clock.now();
        const outcome = await ports.vms.create(request);
        if (outcome.outcome === 'FAILED') {
          await until('a master', async () => ((await isMasterReady(request.jobId, since)) ? true : undefined));
        }
        return outcome;
      },
    },
  };
}

it('a job whose machines are not all created runs on none of them, in no zone, and does not succeed', async () => {
  const other = { name: 'other', module: 'trainer.task' };
  await cloud.upload('other.tar.gz', await packProgram('import time\ntime.sleep(600)\n', other));
  await cloud.awaitJob('other', ({ state }) => state === 'RUNNING');
  const job = { name: 'half', module: 'trainer.task', workers: 2, maxWait: '8s' };
  await cloud.upload('half.tar.gz', await packProgram(STANDALONE_PROGRAM, job));

  const { cause, ...ended } = await cloud.awaitJob('half');
  expect(ended).toMatchObject({ state: 'FAILED', attempt: 1, startTime: null });
  expect(cause).toMatchObject({ code: 'MAX_WAIT_TIME_EXCEEDED' });
  expect(cause?.evidence[0]).toMatch(/^WAITS_FOR_MACHINE: /);
  const printed = (await cloud.readLog('half')).filter(({ stream }) => stream === 'stdout');
  expect(printed).toEqual([]);
  expect(await cloud.listVms()).toHaveLength(1);
  await cloud.cancel('other');
  await cloud.awaitJob('other');
});

it('a job whose machines are all created runs on each of them', async () => {
  const job = { name: 'whole', module: 'trainer.task', workers: 1 };
  await cloud.upload('whole.tar.gz', await packProgram(STANDALONE_PROGRAM, job));

  expect(await cloud.awaitJob('whole')).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
});

it('a job that is larger than a quota fails at once, with its own need and the limit', async () => {
  const job = { name: 'large', module: 'trainer.task', workers: 1, region: 'europe-west4' };
  await cloud.upload('large.tar.gz', await packProgram(STANDALONE_PROGRAM, job));

  const { state, cause, attempt } = await cloud.awaitJob('large');
  expect({ state, attempt }).toEqual({ state: 'FAILED', attempt: 1 });
  expect(cause).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    message: expect.stringContaining(
      'SSD_TOTAL_GB is 150 in europe-west4, and the job needs 200, so waiting does not help',
    ),
  });
  expect(await cloud.listVms()).toEqual([]);
});
