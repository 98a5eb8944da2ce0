import { afterEach, beforeEach, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import { isPlaced } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { wakeWaitingJobs } from '#shared/use-cases/provision/waiting-jobs.ts';
import { wakeDueJobs } from '#shared/use-cases/reconcile/reconcile.ts';
import { type Shape, simulatedJob, ZONES } from '../../simulation/simulated-job.ts';
import { openProvision, type ProvisionUnderTest } from '../../support/use-cases/provision-under-test.ts';

const QUOTA = { metric: 'CPUS', family: null, limit: 8, scope: 'REGION' } as const;
const PAIR: Shape = { others: [{ role: 'worker', count: 1 }] };

let stage: ProvisionUnderTest;
let free: number;

beforeEach(() => {
  stage = openProvision();
  free = 0;
  // Each VM has four cores.
  stage.cloud.findShortage = (requests) => (4 * requests.length > free ? exceeded() : undefined);
});

afterEach(() => stage.close());

function exceeded(): VmCreateFailure {
  return { cause: causeOf('QUOTA_EXCEEDED', "Quota 'CPUS' exceeded."), zonesAvailable: [], quota: QUOTA };
}

/** Submits jobs a second apart, and lets each look for a place until it waits or has one. */
async function submit(jobs: Readonly<Record<string, Shape>>): Promise<void> {
  for (const [index, [jobId, shape]] of Object.entries(jobs).entries()) {
    await stage.ports.jobs.create(simulatedJob(jobId, 1_000 * index, shape), []);
    await settle(jobId, 10_000);
  }
}

async function settle(jobId: string, now: number): Promise<void> {
  for (let round = 0; round <= ZONES.length; round += 1) {
    await stage.deliver(jobId, now, { placementRound: (await stage.readJob(jobId)).placementRound });
  }
}

const waiting = async () => (await stage.ports.jobs.listWaiting(9)).map(({ jobId }) => jobId);
const startedOf = async (...jobIds: readonly string[]) => {
  const jobs = await Promise.all(jobIds.map(async (jobId) => (await stage.ports.jobs.read(jobId))?.job));
  return jobs.flatMap((job) => (job !== undefined && isPlaced(job) && job.instances.length > 0 ? [job.jobId] : []));
};

it('a job waits behind an earlier one although there is room for it alone, and says so', async () => {
  free = 4;
  await submit({ pair: PAIR, single: {} });
  expect(await waiting()).toEqual(['pair', 'single']);
  expect(await stage.readJob('single')).toMatchObject({
    waitingFor: { code: 'WAITS_FOR_MACHINE', message: expect.stringContaining('held for job pair, submitted before') },
  });
  expect(stage.cloud.requests).toEqual([]);
});

it('a later job that does not need what is short starts', async () => {
  await submit({ pair: PAIR });
  const other = simulatedJob('elsewhere', 2_000);
  await stage.ports.jobs.create({ ...other, zones: ['europe-west4-a'] }, []);
  free = 4;
  await settle('elsewhere', 10_000);
  expect(await startedOf('elsewhere')).toEqual(['elsewhere']);
});

it('the first one is woken when VMs are gone, and the next one when it has its own', async () => {
  await submit({ pair: PAIR, single: {}, last: {} });
  free = 99;
  await wakeWaitingJobs(stage.ports, 'ended-1', 20_000);
  await settle('pair', 20_000);
  expect(await startedOf('pair', 'single', 'last')).toEqual(['pair']);
  expect(await stage.readJob('single')).toMatchObject({ isBackingOff: false });
  expect(await stage.readJob('last')).toMatchObject({ isBackingOff: true });
  await settle('single', 21_000);
  expect(await stage.readJob('last')).toMatchObject({ isBackingOff: false });
});

it('a job whose wake-up was lost tries again at its deadline', async () => {
  await submit({ first: {} });
  free = 4;
  await wakeDueJobs(stage.ports, 10_000 + TIMEOUTS.backoffMsMax);
  await settle('first', 700_000);
  expect(await startedOf('first')).toEqual(['first']);
  expect(await waiting()).toEqual([]);
});
