import { expect, it } from 'vitest';
import { type Job, replicasOf } from '#shared/domain/job.ts';
import { isBefore } from '#shared/domain/waiting-order.ts';
import { seedCount } from './seed-count.ts';
import type { Shape } from './simulated-job.ts';
import { createWorld } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

const SEEDS = seedCount(1);
const VMS_MAX = 4;
const JOBS = 12;
const CLUSTER = { others: [{ role: 'worker', count: 2 }] } as const;
const STEPS_MAX = 60_000;

/** The sixth job needs three of the four VMs. */
const shapeOf = (number: number): Shape => (number === 6 ? CLUSTER : {});

type Run = { readonly hasFaults: boolean; readonly without?: readonly Mechanism[] };

/**
 * Submits the jobs within a minute, and runs until all have ended. Returns which job had its first VM before an earlier
 * one that was waiting all the time since before it got its place, and the order in which they began to run.
 */
async function runQueue(seed: number, { hasFaults, without = [] }: Run) {
  const limit = { code: 'QUOTA_EXCEEDED', vmsMax: VMS_MAX, usedByOthers: 0, isKnown: true } as const;
  const world = createWorld(seed, without, { limit, stepMsMax: 10_000 });
  if (!hasFaults) {
    world.stopFaults();
  }
  world.faults.stockout = 0;
  const waitingSince = new Map<string, { readonly job: Job; readonly since: number }>();
  const seen = new Set<string>();
  const overtakings: string[] = [];

  async function observe(): Promise<void> {
    const waiting = await world.jobs.listWaiting(JOBS);
    for (const jobId of waitingSince.keys()) {
      if (!waiting.some((job) => job.jobId === jobId)) {
        waitingSince.delete(jobId);
      }
    }
    for (const vm of world.cloud.all().filter(({ instanceId }) => !seen.has(instanceId))) {
      seen.add(vm.instanceId);
      const job = (await world.jobs.read(vm.jobId))?.record;
      const placedAt = job?.status === 'PREPARING' ? job.placedAt : Number.NEGATIVE_INFINITY;
      const before = [...waitingSince.values()].filter((other) => job && isBefore(other.job, job));
      overtakings.push(
        ...before.filter(({ since }) => since < placedAt).map((other) => `${vm.jobId} before ${other.job.jobId}`),
      );
    }
    for (const job of waiting) {
      waitingSince.set(job.jobId, waitingSince.get(job.jobId) ?? { job, since: world.now() });
    }
  }

  const jobIds = Array.from({ length: JOBS }, (_, number) => `job${String(number + 1).padStart(2, '0')}`);
  for (const [index, jobId] of jobIds.entries()) {
    await world.submit(jobId, shapeOf(index + 1));
    await world.step();
    await observe();
  }
  for (let step = 0; step < STEPS_MAX && (await world.isBusy()); step += 1) {
    await world.step();
    await observe();
  }
  const jobs = await Promise.all(jobIds.map(async (jobId) => (await world.jobs.read(jobId))?.record));
  world.close();
  const started = jobs.flatMap((job) => (job === undefined || job.firstRanAt === null ? [] : [job]));
  return { overtakings, started: started.toSorted((a, b) => (a.firstRanAt ?? 0) - (b.firstRanAt ?? 0)) };
}

it('starts waiting jobs in the order of their submission, and a cluster among them', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { overtakings, started } = await runQueue(seed, { hasFaults: false });
    expect(overtakings, `seed ${seed}`).toEqual([]);
    expect(started.filter(({ spec }) => replicasOf(spec).length > 1)).toHaveLength(1);
    expect(started).toHaveLength(JOBS);
  }
});

it('lets no job overtake an earlier one that waits, whatever fails', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    expect((await runQueue(seed, { hasFaults: true })).overtakings, `seed ${seed}`).toEqual([]);
  }
});

it('would let jobs overtake others if none looked which wait', async () => {
  const { overtakings } = await runQueue(1, { hasFaults: false, without: ['waitingOrder'] });
  expect(overtakings).not.toEqual([]);
});
