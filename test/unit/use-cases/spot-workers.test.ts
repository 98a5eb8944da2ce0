import { afterEach, beforeEach, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { QuotaLimit } from '#shared/domain/event.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';
import { usageOfPlacement } from '#shared/use-cases/limits/vm-usage.ts';
import { viewJob } from '#shared/views/job-view.ts';
import { summarizeRunning } from '#shared/views/summarize-running.ts';
import { type Shape, simulatedJob, ZONES } from '../../simulation/simulated-job.ts';
import { openProvision, type ProvisionUnderTest } from '../../support/use-cases/provision-under-test.ts';

/** An on-demand master with three Spot workers. */
const MIXED: Shape = { others: [{ role: 'worker', count: 3, provisioningModel: 'SPOT' }] };
const PAIR: Shape = { others: [{ role: 'worker', count: 1 }] };
const SPOT: Shape = { provisioningModel: 'SPOT' };

let stage: ProvisionUnderTest;

beforeEach(() => {
  stage = openProvision();
});
afterEach(() => stage.close());

/** Submits a job, and delivers its messages until it has VMs or waits. */
async function submit(jobId: string, shape: Shape, now: number) {
  await stage.ports.jobs.create(simulatedJob(jobId, now, shape), []);
  for (let round = 0; round <= ZONES.length; round += 1) {
    await stage.deliver(jobId, now, await stage.readJob(jobId));
  }
  return stage.readJob(jobId);
}

/** VMs of this model cannot be created, in one zone or because of a quota. */
function refuse(model: ProvisioningModel, quota?: QuotaLimit, zone?: string): void {
  const cause = causeOf(quota === undefined ? 'STOCKOUT' : 'QUOTA_EXCEEDED', 'Too much.');
  const failure = { cause, zonesAvailable: [], ...(quota && { quota }) };
  stage.cloud.answer = (request) =>
    request.provisioningModel === model && (zone ?? request.zone) === request.zone
      ? { outcome: 'FAILED', failure }
      : { outcome: 'CREATED', instanceId: request.vmName };
}

it('a stockout of Spot workers is avoided by jobs with such workers, not by jobs on demand', async () => {
  refuse('SPOT', undefined, ZONES[0]);
  expect(await submit('mixed', MIXED, 1_000)).toMatchObject({ placement: { zone: ZONES[1] } });
  stage.cloud.requests.length = 0;

  expect(await submit('same', MIXED, 2_000)).toMatchObject({ placement: { zone: ZONES[1] }, placementRound: 1 });
  expect(await submit('pair', PAIR, 3_000)).toMatchObject({ placement: { zone: ZONES[0] }, placementRound: 1 });
  const models = stage.cloud.requests.map(
    ({ jobId, role, provisioningModel }) => `${jobId} ${role} ${provisioningModel}`,
  );
  expect([...new Set(models)].toSorted()).toEqual([
    'pair master STANDARD',
    'pair worker STANDARD',
    'same master STANDARD',
    'same worker SPOT',
  ]);
});

it('a stockout on demand is avoided by jobs on demand, not by those with Spot workers', async () => {
  refuse('STANDARD', undefined, ZONES[0]);
  expect(await submit('pair', PAIR, 1_000)).toMatchObject({ placement: { zone: ZONES[1] } });
  stage.cloud.answer = ({ vmName }) => ({ outcome: 'CREATED', instanceId: vmName });
  expect(await submit('mixed', MIXED, 2_000)).toMatchObject({ placement: { zone: ZONES[0] } });
});

it.each<{ metric: string; limit: number; of: ProvisioningModel; status: string; message?: string }>([
  { metric: 'PREEMPTIBLE_CPUS', limit: 12, of: 'SPOT', status: 'QUEUED' },
  { metric: 'PREEMPTIBLE_CPUS', limit: 11, of: 'SPOT', status: 'CLOSING', message: 'the job needs 12' },
  // The project has preemptible quotas, or not: only the failure of a Spot VM shows it.
  { metric: 'CPUS', limit: 4, of: 'STANDARD', status: 'QUEUED' },
  { metric: 'CPUS', limit: 3, of: 'STANDARD', status: 'CLOSING', message: 'the job needs 4' },
  { metric: 'CPUS', limit: 15, of: 'SPOT', status: 'CLOSING', message: 'the job needs 16' },
])('waits for $metric of $limit that its $of VMs exceed unless they need more', async (expected) => {
  const { metric, limit, of, status, message = '' } = expected;
  refuse(of, { metric, family: null, limit, scope: 'REGION' });
  expect(await submit('mixed', MIXED, 1_000)).toMatchObject({ status });
  expect(JSON.stringify(await stage.readJob('mixed'))).toContain(message);
});

it.each([
  { metric: 'PREEMPTIBLE_CPUS', of: 'SPOT', others: 'only those with Spot VMs', started: ['pair'] },
  { metric: 'CPUS', of: 'STANDARD', others: 'all', started: [] },
] as const)('holds the quota $metric for its VMs, which $others wait for', async ({ metric, of, started }) => {
  refuse(of, { metric, family: null, limit: 96, scope: 'REGION' });
  await submit('mixed', MIXED, 1_000);
  stage.cloud.answer = ({ vmName }) => ({ outcome: 'CREATED', instanceId: vmName });
  const ends = [
    await submit('pair', PAIR, 2_000),
    await submit('spot', SPOT, 3_000),
    await submit('like', MIXED, 4_000),
  ];
  expect(ends.filter(({ status }) => status === 'PREPARING').map(({ jobId }) => jobId)).toEqual(started);
});

it('Spot workers cost their own price in limits, in the job, and in what runs now', async () => {
  const job = await submit('mixed', MIXED, 1_000);
  const [alone, spot, pair] = [{}, SPOT, PAIR].map((shape) => usageOfPlacement(simulatedJob('other', 0, shape).spec));
  const usdPerHour = ((alone?.microUsdPerHour ?? 0) + 3 * (spot?.microUsdPerHour ?? 0)) / 1e6;
  expect(usdPerHour).toBeLessThan((2 * (pair?.microUsdPerHour ?? 0)) / 1e6);
  expect(usageOfPlacement(job.spec)).toMatchObject({ vms: 4, microUsdPerHour: Math.round(usdPerHour * 1e6) });
  const view = viewJob(job, [], 1_000 + 3_600_000);
  expect(view.price.totalUsd).toBeCloseTo(usdPerHour);
  expect(view.machines.map(({ provisioningModel }) => provisioningModel)).toEqual([undefined, 'SPOT']);
  expect(await summarizeRunning(stage.ports)).toMatchObject({ vms: 4, perHourUsd: expect.closeTo(usdPerHour) });
});
