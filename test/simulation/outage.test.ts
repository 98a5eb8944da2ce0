import { expect, it } from 'vitest';
import { createWorld } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

const SEEDS = 40;
const STEPS_MAX = 30_000;
const MINUTE_MS = 60_000;

/** Longer than a lease, and shorter than agents bear. */
const OUTAGE_MS_MIN = 3 * MINUTE_MS;
const OUTAGE_SPREAD_MS = 5 * MINUTE_MS;

/** Every cluster, from one machine to three; servers and evaluators go on for as long as the master trains. */
const SHAPES = { lone: [], pair: [{ role: 'worker', count: 1 }], served: [{ role: 'ps', count: 2 }] } as const;

/**
 * A world in which nothing fails but the door of the heartbeats, which is shut for some minutes once the first job
 * runs. What it resolves with is how often attempts were interrupted.
 */
async function interruptionsByOutage(seed: number, without: readonly Mechanism[] = []): Promise<number> {
  const world = createWorld(seed, without, { leapMsMax: 5_000 });
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
  world.shutHeartbeats(OUTAGE_MS_MIN + world.prng.integer(OUTAGE_SPREAD_MS));
  await stepUntil((all) => all.every(({ status }) => status === 'CLOSED'));
  const ended = await jobs();
  world.close();
  expect(ended.map((job) => job.status === 'CLOSED' && job.verdict.state)).toEqual(ended.map(() => 'SUCCEEDED'));
  return ended.reduce((sum, { counts }) => sum + counts.interruptions, 0);
}

it('interrupts no attempt because heartbeats found no hearing for some minutes', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    expect(await interruptionsByOutage(seed), `seed ${seed}`).toBe(0);
  }
});

it.each<{ readonly mechanism: Mechanism; readonly promise: string }>([
  { mechanism: 'hearing', promise: 'a lease counts though nobody is heard' },
  { mechanism: 'secondLook', promise: 'a lease counts as soon as the first is heard again' },
])('would interrupt healthy attempts if $promise', async ({ mechanism }) => {
  let interruptions = 0;
  for (let seed = 1; seed <= SEEDS && interruptions === 0; seed += 1) {
    interruptions = await interruptionsByOutage(seed, [mechanism]);
  }
  expect(interruptions).toBeGreaterThan(0);
});
