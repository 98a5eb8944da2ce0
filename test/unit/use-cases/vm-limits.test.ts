import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import type { JobSpec, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { checkVmLimits } from '#shared/use-cases/intake/checks/vm-limits.ts';
import { usageOf } from '#shared/use-cases/limits/vm-usage.ts';
import { teardown } from '#shared/use-cases/teardown/teardown.ts';
import { type Shape, simulatedJob } from '../../simulation/simulated-job.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { openProvision, type ProvisionUnderTest } from '../../support/use-cases/provision-under-test.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const vmsMax = (max: number): VmLimits => ({
  VMS_MAX: { max, reason: `this deployment runs at most ${max} VMs at a time`, remedy: 'have vms_max raised' },
});
const USD_MAX: VmLimits = {
  USD_PER_HOUR_MAX: {
    max: 1,
    reason: 'VMs may cost at most 1 US dollars an hour',
    remedy: 'have usd_per_hour_max raised',
  },
};
const PAIR: Shape = { others: [{ role: 'worker', count: 1 }] };

let stage: ProvisionUnderTest;

beforeEach(() => {
  stage = openProvision();
});
afterEach(() => stage.close());

const read = async (jobId: string) => (await stage.ports.jobs.read(jobId))?.record as Job;

/** Delivers the messages of the job until it has VMs or waits. */
async function settle(jobId: string, now: number): Promise<Job> {
  for (let round = 0; round < 4; round += 1) {
    await stage.deliver(jobId, now, await read(jobId));
  }
  return read(jobId);
}

async function submit(jobId: string, shape: Shape = {}, createdAt = 0): Promise<Job> {
  await stage.ports.jobs.create(simulatedJob(jobId, createdAt, shape), []);
  return settle(jobId, 10_000);
}

/** The teardown of a job of which Compute Engine lists these VMs. */
async function tearDown(jobId: string, now: number, vms: readonly Vm[] = []): Promise<void> {
  const removal = { list: async () => vms, delete: async () => stage.cloud.deletion };
  await teardown({ ...stage.ports, vms: removal }, jobId, now);
}

it('a job beyond the limit waits with the reason, creates nothing, and starts when VMs are gone', async () => {
  stage.cloud.vmLimits = vmsMax(2);
  await submit('pair', PAIR);
  const waiting = await submit('single', {}, 1_000);
  expect(waiting).toMatchObject({
    status: 'QUEUED',
    waitingFor: {
      code: 'WAITS_FOR_MACHINE',
      message:
        'The job needs 1 VM, those of other jobs 2 VMs, and this deployment runs at most 2 VMs at a time. To run more, have vms_max raised.',
    },
  });
  expect(stage.cloud.requests).toHaveLength(2);
  await handleJobEvent(stage.ports, { type: 'CANCEL_REQUESTED', eventId: 'c', jobId: 'pair', at: 20_000 });
  expect(await settle('single', 21_000)).toMatchObject({ status: 'QUEUED' });
  await tearDown('pair', 22_000);
  expect(await settle('single', 23_000)).toMatchObject({ status: 'PREPARING', waitsFor: null });
});

it('an interrupted job at the limit starts again when its old VMs are gone, before later jobs', async () => {
  stage.cloud.vmLimits = vmsMax(1);
  await submit('first');
  await submit('second', {}, 1_000);
  const cause = causeOf('HEARTBEAT_LOST', 'It sent no heartbeats.');
  const lost = { type: 'ATTEMPT_INTERRUPTED', eventId: 'lost', jobId: 'first', at: 20_000, attempt: 1, cause } as const;
  await handleJobEvent(stage.ports, lost);
  expect(await settle('first', 40_000)).toMatchObject({ status: 'QUEUED', endedPlacements: 1 });
  await tearDown('first', 50_000);
  expect(await settle('first', 51_000)).toMatchObject({ status: 'PREPARING', attempt: 2, endedPlacements: 0 });
  expect(await settle('second', 52_000)).toMatchObject({ status: 'QUEUED' });
});

it('VMs that are still being deleted after a failed placement count, and their job is torn down', async () => {
  stage.cloud.vmLimits = vmsMax(2);
  stage.cloud.deletion = 'DELETING';
  const stockout = { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] };
  stage.cloud.answer = ({ role }) =>
    role === 'master' ? { outcome: 'CREATED', instanceId: '1' } : { outcome: 'FAILED', failure: stockout };
  const pair = await submit('pair', PAIR);
  expect(pair).toMatchObject({ status: 'QUEUED', endedPlacements: 1, waitsFor: { metric: 'VMS_MAX' } });
  await tearDown('pair', 60_000);
  expect(await stage.ports.jobs.readUsage()).toMatchObject({ vms: 0 });
});

it('a job that was accepted before its limit was lowered fails with the reason, and holds up no others', async () => {
  stage.cloud.vmLimits = vmsMax(1);
  expect(await submit('pair', PAIR)).toMatchObject({
    status: 'CLOSING',
    verdict: { cause: { code: 'QUOTA_EXCEEDED', message: expect.stringContaining('have vms_max raised') } },
  });
  expect(await submit('single', {}, 1_000)).toMatchObject({ status: 'PREPARING' });
});

it('of a failed job that keeps a VM, that one counts once the others are gone', async () => {
  const shape = { ...PAIR, keepOnFailureMs: 600_000 };
  await submit('kept', shape);
  const cause = causeOf('PROGRAM_FAILED', 'It failed.');
  const exited = { type: 'REPLICA_EXITED', eventId: 'x', jobId: 'kept', at: 20_000, attempt: 1 } as const;
  await handleJobEvent(stage.ports, { ...exited, replica: 'worker-0', exit: { outcome: 'FAILED', cause } });
  if ((await read('kept')).status === 'PREPARING') {
    const resolved = { type: 'HELD_FAILURE_RESOLVED', eventId: 'r', jobId: 'kept', at: 21_000, attempt: 1 } as const;
    await handleJobEvent(stage.ports, { ...resolved, replica: 'worker-0', exit: { outcome: 'FAILED', cause } });
  }
  expect(usageOf(await read('kept')).vms).toBe(2);
  const job = await read('kept');
  const kept = job.status === 'CLOSING' ? job.kept : null;
  const { vmName = '', placement } = kept ?? {};
  const vm = { vmName, zone: placement?.zone ?? '', instanceId: kept?.instanceId ?? '1', jobId: 'kept', attempt: 1 };
  await tearDown('kept', 30_000, [{ ...vm, status: 'RUNNING' }]);
  expect(usageOf(await read('kept')).vms).toBe(1);
  expect(await stage.ports.jobs.readUsage()).toMatchObject({ vms: 1 });
});

describe('intake', () => {
  const [master] = queuedJob().spec.replicaGroups;
  const specOf = (change: Partial<ReplicaGroup>) => ({
    ...queuedJob().spec,
    replicaGroups: [{ ...master, ...change }] as const,
  });
  const problemsOf = async (spec: JobSpec, vmLimits: VmLimits) =>
    (await runCheck(checkVmLimits, { spec }, { intake: { vmLimits } })).problems;

  it('rejects what is beyond a limit by itself, with the limit and what to do', async () => {
    expect(await problemsOf(specOf({}), { ...vmsMax(1), ...USD_MAX })).toEqual([]);
    expect(await problemsOf(specOf({ count: 3 }), vmsMax(2))).toEqual([
      {
        code: 'TOO_MANY_REPLICAS',
        message: 'The job needs 3 VMs and this deployment runs at most 2 VMs at a time.',
        remedy: 'Request fewer replicas or another machine type, or have vms_max raised.',
      },
    ]);
    expect(await problemsOf(specOf({ machineType: 'a3-highgpu-8g' }), USD_MAX)).toMatchObject([
      { code: 'PRICE_LIMIT_EXCEEDED', message: expect.stringContaining('88.49 US dollars an hour') },
    ]);
  });

  it('rejects a machine of which no price is known only if dollars are limited, and never counts it as zero', async () => {
    const unpriced = specOf({ machineType: 'g4-standard-48' });
    expect(await problemsOf(unpriced, vmsMax(2))).toEqual([]);
    expect(await problemsOf(unpriced, USD_MAX)).toMatchObject([
      { code: 'PRICE_LIMIT_EXCEEDED', message: expect.stringMatching(/no price is known for g4-standard-48/i) },
    ]);
    const flex = { ...specOf({ machineType: 'a2-highgpu-1g' }), provisioningModel: 'FLEX_START' } as const;
    expect(await problemsOf(flex, USD_MAX)).toMatchObject([{ message: expect.stringContaining('3.67') }]);
  });
});
