import { expect, it } from 'vitest';
import { UNUSED_VMS_PER_REPLICA_MAX } from '#shared/domain/timeouts.ts';
import { seedCount } from './seed-count.ts';
import type { SimulatedLimit } from './simulated-cloud.ts';
import { createWorld } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

const SEEDS = seedCount(3);
const STEPS_MAX = 200_000;
const DAY_MS = 24 * 3_600_000;
const DAYS_MAX = 7;

/** A master and three workers. */
const CLUSTER = { others: [{ role: 'worker', count: 3 }] } as const;
const REPLICAS = 4;

type World = ReturnType<typeof createWorld>;

type Run = {
  readonly limit: SimulatedLimit;
  readonly without?: readonly Mechanism[];
  readonly minutesMax?: number;
  readonly hasFaults?: boolean;
};

/** Runs one cluster for seven simulated days, until it has ended, or until more than `minutesMax` minutes are billed. */
async function runCluster(seed: number, { limit, without = [], minutesMax = 10_000, hasFaults = false }: Run) {
  const world = createWorld(seed, without, { stepMsMax: 20_000, limit });
  if (!hasFaults) {
    world.stopFaults();
  }
  world.faults.stockout = 0;
  await world.submit('cluster', CLUSTER);
  for (let step = 0; step < STEPS_MAX && !(await isOver(world, minutesMax)); step += 1) {
    await world.step();
  }
  const job = (await world.jobs.read('cluster'))?.record;
  const vms = world.unusedVmMinutes();
  world.close();
  return { cause: job?.status === 'CLOSED' ? job.verdict.cause : null, vms: vms.length, minutes: sumOf(vms) };
}

async function isOver(world: World, minutesMax: number): Promise<boolean> {
  const isLate = world.now() > DAYS_MAX * DAY_MS || sumOf(world.unusedVmMinutes()) > minutesMax;
  return isLate || !(await world.isBusy());
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Each VM is deleted within a minute or two. */
const MINUTES_MAX = 2 * UNUSED_VMS_PER_REPLICA_MAX * REPLICAS;
/** A round that is repeated while it is handled, or after a crash, creates the same VMs again and counts once. */
const VMS_MAX = MINUTES_MAX;
const ONE_ROUND_VMS_MAX = 3 * REPLICAS;

const TOO_SMALL = { code: 'QUOTA_EXCEEDED', vmsMax: 3, usedByOthers: 0 } as const;
const PARTLY_USED = { code: 'QUOTA_EXCEEDED', vmsMax: 6, usedByOthers: 3 } as const;
const USED_UP = { code: 'QUOTA_EXCEEDED', vmsMax: 6, usedByOthers: 6 } as const;
const PARTLY_FULL = { code: 'STOCKOUT', vmsMax: 6, usedByOthers: 3 } as const;

it('fails a cluster larger than a quota after one round', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { cause, vms } = await runCluster(seed, { limit: TOO_SMALL });
    expect(cause, `seed ${seed}`).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      message: expect.stringContaining('INSTANCES is 3 in us-central1, and the job needs 4'),
    });
    expect(vms).toBeLessThanOrEqual(ONE_ROUND_VMS_MAX);
  }
});

const WAITED = 'MAX_WAIT_TIME_EXCEEDED';
const UNUSED = 'UNUSED_VM_LIMIT_EXCEEDED';

it.each<{ readonly what: string; readonly limit: SimulatedLimit; readonly codes: readonly string[] }>([
  // Whichever comes first: about one round in half an hour.
  { what: 'others use a part of the quota', limit: PARTLY_USED, codes: [WAITED, UNUSED] },
  { what: 'others use the whole quota', limit: USED_UP, codes: [WAITED] },
  { what: 'there is capacity for a part of the cluster', limit: PARTLY_FULL, codes: [UNUSED] },
])('bounds the VM minutes without a program if $what', async ({ limit, codes }) => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { cause, minutes } = await runCluster(seed, { limit });
    expect(minutes, `seed ${seed}`).toBeLessThanOrEqual(MINUTES_MAX);
    expect(codes, `seed ${seed}`).toContain(cause?.code);
  }
});

it('bounds the number of VMs without a program, whatever fails', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { cause, vms } = await runCluster(seed, { limit: PARTLY_FULL, hasFaults: true });
    expect(vms, `seed ${seed}`).toBeLessThanOrEqual(VMS_MAX);
    expect(cause?.code, `seed ${seed}`).toBe(UNUSED);
  }
});

it('would not fail a cluster larger than a quota after one round if its limit was not known', async () => {
  const { vms } = await runCluster(1, { limit: TOO_SMALL, without: ['quotaDemand'] });
  expect(vms).toBeGreaterThan(ONE_ROUND_VMS_MAX);
});

it('would not bound the VM minutes without a program if unused VMs were not counted', async () => {
  const { minutes } = await runCluster(1, {
    limit: PARTLY_FULL,
    without: ['unusedVmLimit'],
    minutesMax: MINUTES_MAX,
  });
  expect(minutes).toBeGreaterThan(MINUTES_MAX);
});
