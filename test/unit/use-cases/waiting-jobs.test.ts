import { afterEach, beforeEach, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import { isPlaced } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { VmRemoval } from '#shared/ports/vm-provider.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { wakeWaitingJobs } from '#shared/use-cases/provision/waiting-jobs.ts';
import { wakeDueJobs } from '#shared/use-cases/reconcile/reconcile.ts';
import { teardown } from '#shared/use-cases/teardown/teardown.ts';
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
    await stage.deliver(jobId, now, await stage.readJob(jobId));
  }
}

const waiting = async () => (await stage.ports.jobs.listWaiting(9)).map(({ jobId }) => jobId);
const startedOf = async (...jobIds: readonly string[]) => {
  const jobs = await Promise.all(jobIds.map(async (jobId) => (await stage.ports.jobs.read(jobId))?.record));
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

it('a job that is stocked out holds up no others for a quota that it has exceeded before, nor do those behind it', async () => {
  await submit({ first: {}, second: {} });
  free = 99;
  const stockout = { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] };
  stage.cloud.answer = () => ({ outcome: 'FAILED', failure: stockout });
  await wakeWaitingJobs(stage.ports, 'ended-1', 20_000);
  await settle('first', 20_000);
  await wakeWaitingJobs(stage.ports, 'ended-2', 20_000);
  await settle('second', 20_000);
  expect(await waiting()).toEqual([]);
  stage.cloud.answer = () => ({ outcome: 'CREATED', instanceId: '1' });
  await stage.ports.jobs.create({ ...simulatedJob('later', 5_000), zones: [ZONES[0] ?? ''] }, []);
  await settle('later', 21_000 + TIMEOUTS.coolDownMs);
  expect(await startedOf('later')).toEqual(['later']);
});

it('each end of VMs of a job wakes the first one: of an interrupted attempt, and of the job', async () => {
  await submit({ first: {} });
  const vms: VmRemoval = { delete: async () => 'GONE', list: async () => [] };
  const other = { ...simulatedJob('other', 500), attempt: 2 };
  await stage.ports.jobs.create(other, []);
  for (const at of [20_000, 30_000]) {
    expect(await stage.readJob('first')).toMatchObject({ isBackingOff: true });
    await teardown({ ...stage.ports, vms }, 'other', at);
    expect(await stage.readJob('first')).toMatchObject({ isBackingOff: false });
    await settle('first', at);
    const cancel = { type: 'CANCEL_REQUESTED', eventId: 'cancel', jobId: 'other', at } as const;
    await handleJobEvent(stage.ports, cancel);
  }
});

it('a single VM that was lost before its program ran does not keep a job from being woken', async () => {
  free = 4;
  await submit({ first: {} });
  const lost = causeOf('VM_TERMINATED', 'It is gone.');
  const event = { eventId: 'lost', jobId: 'first', at: 11_000, attempt: 1, cause: lost } as const;
  await handleJobEvent(stage.ports, { ...event, type: 'ATTEMPT_INTERRUPTED' });
  free = 0;
  await settle('first', 12_000);
  expect(await stage.readJob('first')).toMatchObject({ isBackingOff: true, counts: { unusedVms: 1 } });
  await wakeWaitingJobs(stage.ports, 'ended-1', 20_000);
  expect(await stage.readJob('first')).toMatchObject({ isBackingOff: false });
});

it('a job that needs more than the limit fails at once, also behind others', async () => {
  await submit({ first: {}, large: { others: [{ role: 'worker', count: 2 }] } });
  expect(await stage.readJob('large')).toMatchObject({
    status: 'CLOSING',
    verdict: { cause: { code: 'QUOTA_EXCEEDED' } },
  });
});

it('a Spot job does not wait behind others for a quota that Spot VMs may not use', async () => {
  await submit({ first: {} });
  free = 99;
  await stage.ports.jobs.create(simulatedJob('spot', 5_000, { provisioningModel: 'SPOT' }), []);
  await settle('spot', 20_000);
  expect(await startedOf('spot')).toEqual(['spot']);
});

it('the time for which a job may wait for a quota counts behind others, too, who are asked again seldom', async () => {
  await submit({ first: {}, second: {} });
  const [first, second] = await Promise.all(['first', 'second'].map((jobId) => stage.readJob(jobId)));
  expect(second?.quotaWaitSince).toBe(first?.quotaWaitSince);
  expect(second?.wakeAt).toBe(10_000 + TIMEOUTS.backoffMsMax);
});

it('VMs that a crashed delivery has created are deleted when the others do not fit', async () => {
  free = 99;
  await submit({ pair: PAIR });
  await stage.ports.jobs.create(simulatedJob('again', 5_000, PAIR), []);
  free = 0;
  stage.cloud.find = (vmName) => {
    const own = {
      vmName,
      zone: ZONES[0] ?? '',
      instanceId: '1',
      jobId: 'again',
      attempt: 1,
      status: 'RUNNING',
    } as const;
    return vmName.includes('master') ? own : undefined;
  };
  await stage.deliver('again', 20_000);
  expect(stage.cloud.deleted).toEqual([expect.stringContaining('master')]);
});
