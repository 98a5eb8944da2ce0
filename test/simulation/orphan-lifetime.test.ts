import { expect, it } from 'vitest';
import { SETUP_MS_MAX, TIMEOUTS, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';
import { seedCount } from './seed-count.ts';
import { createWorld } from './simulated-world.ts';
import { MECHANISMS, type Mechanism } from './world-faults.ts';

const SEEDS = seedCount(20);
const STEPS = 8_000;

/** The simulated clock is not exact: two adjacent due entries may run in reverse order. */
const SLACK_MS = 180_000;
const SWEEP_MS = 300_000;
const SLOWEST_DELETION_MS = 90_000;
const CONTROL_PLANE_TIMEOUT_MS = 600_000;
const MAX_RUNNING_MS = 300_000;
const MAX_RUN_MS = TIMEOUTS.bootMs + SETUP_MS_MAX + MAX_RUNNING_MS + TIMEOUTS.maxRunningGraceMs + UPLOAD_GRACE_MS;

/** The stops of an orphaned VM. Each must suffice if the others, and the teardown stage, have failed. */
const STOPS: readonly { readonly stop: Mechanism; readonly longestMs: number }[] = [
  { stop: 'sweep', longestMs: SWEEP_MS + SLOWEST_DELETION_MS },
  { stop: 'agentsStopThemselves', longestMs: CONTROL_PLANE_TIMEOUT_MS },
  { stop: 'maxRunDuration', longestMs: MAX_RUN_MS },
];

const ALL_STOPS: readonly Mechanism[] = ['teardown', ...STOPS.map(({ stop }) => stop)];

/** Longest time that an orphaned VM ran, in simulated milliseconds. */
async function longestOrphanLifetimeMs(seed: number, without: readonly Mechanism[]): Promise<number> {
  const world = createWorld(seed, without);
  Object.assign(world.faults, {
    crash: 0,
    messageLost: 0,
    heartbeatsStop: 0,
    crashesWithoutReport: 0,
    createThrows: 0,
  });
  const orphanedAt = new Map<string, number>();
  let longestMs = 0;
  for (const jobId of ['steady', 'wide', 'broken']) {
    const others = jobId === 'wide' ? ([{ role: 'worker', count: 1 }] as const) : [];
    await world.submit(jobId, { maxRunningMs: MAX_RUNNING_MS, others });
    world.cancelLater(jobId, world.prng.integer(1_200_000));
  }
  for (let step = 0; step < STEPS; step += 1) {
    await world.step();
    if (step % 10 === 0) {
      const running = (await world.orphans()).filter((vm) => vm.status === 'RUNNING' && vm.bornAt <= world.now());
      for (const { instanceId } of running) {
        const since = orphanedAt.get(instanceId) ?? world.now();
        orphanedAt.set(instanceId, since);
        longestMs = Math.max(longestMs, world.now() - since);
      }
    }
  }
  world.close();
  return longestMs;
}

it.each(STOPS)('$stop alone ends every orphaned VM within its documented time', async ({ stop, longestMs }) => {
  const without = MECHANISMS.filter((mechanism) => ALL_STOPS.includes(mechanism) && mechanism !== stop);
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    expect(await longestOrphanLifetimeMs(seed, without), `seed ${seed}`).toBeLessThanOrEqual(longestMs + SLACK_MS);
  }
});

it('without any stop, orphaned VMs outlive these limits', async () => {
  const lifetimes: number[] = [];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    lifetimes.push(await longestOrphanLifetimeMs(seed, ALL_STOPS));
  }
  expect(Math.max(...lifetimes)).toBeGreaterThan(MAX_RUN_MS + SLACK_MS);
});
