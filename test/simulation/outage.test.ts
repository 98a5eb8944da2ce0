import { expect, it } from 'vitest';
import { seedCount } from './seed-count.ts';
import { createWorld } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

const SEEDS = seedCount(40);
const STEPS_MAX = 30_000;
const MINUTE_MS = 60_000;

/** Longer than a lease, and shorter than the control-plane timeout of agents. */
const OUTAGE_MS_MIN = 3 * MINUTE_MS;
const OUTAGE_SPREAD_MS = 5 * MINUTE_MS;

/** Clusters of one to three replicas; parameter servers run for as long as the master. */
const SHAPES = { lone: [], pair: [{ role: 'worker', count: 1 }], served: [{ role: 'ps', count: 2 }] } as const;

/**
 * A world in which only the heartbeat endpoint fails, for some minutes from when the first job runs. Returns the number
 * of interruptions.
 */
async function interruptionsByOutage(seed: number, without: readonly Mechanism[] = []): Promise<number> {
  const world = createWorld(seed, without, { stepMsMax: 5_000 });
  world.stopFaults();
  for (const [jobId, others] of Object.entries(SHAPES)) {
    await world.submit(jobId, { others });
  }
  const jobs = () => world.jobs.list({ countMax: 10 });
  const stepUntil = async (isDone: (jobs: Awaited<ReturnType<typeof world.jobs.list>>) => boolean) => {
    for (let step = 0; step < STEPS_MAX && !isDone(await jobs()); step += 1) {
      await world.step();
    }
  };
  await stepUntil((all) => all.some(({ status }) => status === 'RUNNING'));
  world.stopHeartbeats(OUTAGE_MS_MIN + world.prng.integer(OUTAGE_SPREAD_MS));
  await stepUntil((all) => all.every(({ status }) => status === 'CLOSED'));
  const ended = await jobs();
  world.close();
  expect(ended.map((job) => job.status === 'CLOSED' && job.verdict.state)).toEqual(ended.map(() => 'SUCCEEDED'));
  return ended.reduce((sum, { counts }) => sum + counts.interruptions, 0);
}

it('interrupts no attempt if the heartbeat endpoint is down for some minutes', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    expect(await interruptionsByOutage(seed), `seed ${seed}`).toBe(0);
  }
});

it.each<{ readonly mechanism: Mechanism; readonly promise: string }>([
  { mechanism: 'newestHeartbeat', promise: 'a lease expired although no replica is reporting' },
  { mechanism: 'suspectFirst', promise: 'a lease expired as soon as the first replica reports again' },
])('would interrupt healthy attempts if $promise', async ({ mechanism }) => {
  let interruptions = 0;
  for (let seed = 1; seed <= SEEDS && interruptions === 0; seed += 1) {
    interruptions = await interruptionsByOutage(seed, [mechanism]);
  }
  expect(interruptions).toBeGreaterThan(0);
});
