import { expect, it } from 'vitest';
import { TIMEOUTS, UNUSED_FLEX_START_VMS_PER_REPLICA_MAX } from '#shared/domain/timeouts.ts';
import { seedCount } from './seed-count.ts';
import { createWorld } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

const SEEDS = seedCount(16);
const STEPS_MAX = 60_000;
const MINUTE_MS = 60_000;

/** A master and three workers, half of which wait for capacity in each zone, for some minutes to hours. */
const CLUSTER = { provisioningModel: 'FLEX_START', others: [{ role: 'worker', count: 3 }] } as const;
const REPLICAS = 4;
const STOCKOUT_CHANCE = 0.5;

/** The last round may exceed the limit by less than a cluster. */
const VMS_MAX = UNUSED_FLEX_START_VMS_PER_REPLICA_MAX * REPLICAS + REPLICAS;
/** Each until its start is noticed, until the others have had their time, and until it is deleted. */
const MINUTES_MAX = VMS_MAX * ((TIMEOUTS.assemblyMs + TIMEOUTS.pendingMs) / MINUTE_MS + 4);

/**
 * The longest time for which a VM waits for others: from its start until its first heartbeat (1 minute, with delivery),
 * `assemblyMs`, the reconciler's interval (1), the delivery of its provision message (2), and handling both (1). Billed
 * minutes are rounded up (1).
 */
const VM_MINUTES_MAX = TIMEOUTS.assemblyMs / MINUTE_MS + 6;

/** Runs the cluster until it has ended; returns the minutes of each VM that was billed and never ran the program. */
async function runCluster(seed: number, without: readonly Mechanism[] = []) {
  const world = createWorld(seed, without, { stepMsMax: 20_000, reorderMsMax: 20_000 });
  world.stopFaults();
  world.faults.stockout = STOCKOUT_CHANCE;
  await world.submit('cluster', CLUSTER);
  for (let step = 0; step < STEPS_MAX && (await world.isBusy()); step += 1) {
    await world.step();
  }
  const job = (await world.jobs.read('cluster'))?.record;
  // A VM that still waits for capacity is not billed.
  const vms = world.unusedVmMinutes().filter((minutes) => minutes > 0);
  world.close();
  const end = job?.status === 'CLOSED' ? (job.verdict.cause?.code ?? job.verdict.state) : job?.status;
  const causes = job?.ledger.flatMap(({ cause }) => cause?.code ?? []);
  return { end, causes, vms, minutes: vms.reduce((sum, minutes) => sum + minutes, 0) };
}

it('a cluster runs, or fails within the cost that intake has announced', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { end, causes, vms, minutes } = await runCluster(seed);
    expect(['SUCCEEDED', 'UNUSED_VM_LIMIT_EXCEEDED'], `seed ${seed}`).toContain(end);
    // No VM is lost in this world, only deleted.
    expect(causes, `seed ${seed}`).not.toContain('HEARTBEAT_LOST');
    expect(vms.length, `seed ${seed}`).toBeLessThanOrEqual(VMS_MAX);
    expect(minutes, `seed ${seed}`).toBeLessThanOrEqual(MINUTES_MAX);
    expect(Math.max(0, ...vms), `seed ${seed}`).toBeLessThanOrEqual(VM_MINUTES_MAX);
  }
});

it('would keep VMs for hours that wait for others if the time for that was not limited', async () => {
  const runs = await Promise.all([1, 2, 3, 4].map((seed) => runCluster(seed, ['assemblyLimit'])));
  expect(Math.max(...runs.flatMap(({ vms }) => vms))).toBeGreaterThan(60);
});
