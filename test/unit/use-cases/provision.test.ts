import { afterEach, beforeEach, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { MASTER } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { AccessDeniedError } from '#shared/ports/object-store.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { findSuccess } from '#shared/use-cases/provision/find-success.ts';
import { provision } from '#shared/use-cases/provision/provision.ts';
import { simulatedJob, simulatedSettings, ZONES } from '../../simulation/simulated-job.ts';
import { openProvision, type ProvisionUnderTest } from '../../support/use-cases/provision-under-test.ts';

let stage: ProvisionUnderTest;
let cloud: ProvisionUnderTest['cloud'];
let ports: ProvisionUnderTest['ports'];

beforeEach(async () => {
  stage = openProvision();
  ({ cloud, ports } = stage);
  await ports.jobs.create(simulatedJob('digits', 0), []);
});

afterEach(() => stage.close());

const deliver = (now: number) => stage.deliver('digits', now);
const readJob = () => stage.readJob('digits');

it('commits the placement before it creates a VM', async () => {
  cloud.answer = () => {
    throw new Error('Compute Engine is unavailable.');
  };

  await expect(deliver(1_000)).rejects.toThrow('unavailable');

  expect(await readJob()).toMatchObject({ status: 'PREPARING', placement: { zone: ZONES[0] }, instances: [] });
});

it('requests the same VM again on redelivery', async () => {
  cloud.answer = () => {
    throw new Error('Compute Engine is unavailable.');
  };
  await deliver(1_000).catch(() => undefined);
  cloud.answer = () => ({ outcome: 'CREATED', instanceId: '7' });
  await deliver(2_000);
  await deliver(3_000);

  expect(cloud.requests.map(({ vmName, zone }) => [vmName, zone])).toEqual(
    Array(2).fill([cloud.requests[0]?.vmName, ZONES[0]]),
  );
  expect((await readJob()).instances).toMatchObject([{ instanceId: '7' }]);
});

it("keeps the lease of the job's VM if a concurrent delivery saw another VM of the same name", async () => {
  const [first] = await Promise.all([deliver(1_000), deliver(1_000)]);
  expect(first).toBeUndefined();

  const job = await readJob();
  const replicas = await ports.replicas.listByAttempt({ jobId: 'digits', attempt: 1 });

  expect(cloud.requests).toHaveLength(2);
  expect(replicas.map(({ instanceId }) => instanceId)).toEqual(job.instances.map(({ instanceId }) => instanceId));
  expect(cloud.deleted).toHaveLength(1);
});

it('falls back to the next zone after a create failure, which is shared by all jobs', async () => {
  cloud.answer = ({ zone }) => ({
    outcome: 'FAILED',
    failure: { cause: causeOf('STOCKOUT', `${zone} is full.`), zonesAvailable: [] },
  });

  await deliver(1_000);

  expect(await readJob()).toMatchObject({ status: 'QUEUED', exhaustedZones: [ZONES[0]], placementRound: 2 });
  const query = { machineKey: 'n1-standard-4', provisioningModel: 'STANDARD', since: 0 } as const;
  expect(await ports.capacity.recall(query)).toMatchObject([{ zone: ZONES[0], failedAt: 1_000 }]);
});

it.each([
  { what: 'that the agent found', diagnosis: {}, zone: ZONES[1], failures: 1 },
  {
    what: 'unless only the program printed it',
    diagnosis: { line: 'uncorrectable ECC error' },
    zone: ZONES[0],
    failures: 0,
  },
])('avoids the zone of a fault of a GPU $what, which is shared by all jobs', async ({ diagnosis, zone, failures }) => {
  await deliver(1_000);
  const label = { label: 'gpu_hardware_fault', remedy: 'None.', canRetryHelp: true, ...diagnosis };
  const cause = { ...causeOf('GPU_FAILED', 'The VM has 7 of its 8 GPUs.'), diagnosis: label };
  const exit = { outcome: 'FAILED', cause } as const;
  const exited = { type: 'REPLICA_EXITED', eventId: 'exited', jobId: 'digits', at: 2_000, attempt: 1 } as const;
  await handleJobEvent(ports, { ...exited, replica: MASTER, exit });

  await stage.deliver('digits', 3_000, { attempt: 2 });

  expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 2, placement: { zone } });
  const query = { machineKey: 'n1-standard-4', provisioningModel: 'STANDARD', since: 0 } as const;
  expect(await ports.capacity.recall(query)).toEqual(
    Array(failures).fill({ ...query, since: undefined, zone: ZONES[0], failedAt: 2_000 }),
  );
});

it.each([
  { what: 'a quota that is too low for the job alone', metric: 'CPUS', limit: 2, state: 'CLOSING', failures: 0 },
  { what: 'a quota for which they wait in their order', metric: 'CPUS', limit: 4, state: 'QUEUED', failures: 0 },
  { what: 'one of which it is not known what it counts', metric: 'NEW', limit: 4, state: 'QUEUED', failures: 1 },
])(
  'records the failure for other jobs only if they cannot wait for the same quota: $what',
  async ({ metric, limit, state, failures }) => {
    const quota = { metric, family: null, limit, scope: 'REGION' } as const;
    const cause = causeOf('QUOTA_EXCEEDED', 'Too much.');
    cloud.answer = () => ({ outcome: 'FAILED', failure: { cause, zonesAvailable: [], quota } });

    await deliver(1_000);

    expect((await readJob()).status).toBe(state);
    const query = { machineKey: 'n1-standard-4', provisioningModel: 'STANDARD', since: 0 } as const;
    expect(await ports.capacity.recall(query)).toHaveLength(failures);
  },
);

it('does not count the failure of an earlier zone against the current one, even if two rounds found it', async () => {
  const deadLetter = {
    jobId: 'digits',
    at: 2_000,
    topic: 'provision',
    attempt: 1,
    placementRound: 1,
    problem: 'It threw.',
  };
  const messageOf = (placementRound: number) => ({ jobId: 'digits', attempt: 1, placementRound });
  const context = { now: 2_000, settings: simulatedSettings };
  cloud.answer = ({ zone }) => {
    if (zone !== ZONES[0]) {
      throw new Error('Compute Engine is unavailable.');
    }
    return { outcome: 'FAILED', failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] } };
  };
  const create = async (request: VmRequest) => {
    await handleJobEvent(ports, { ...deadLetter, type: 'DELIVERY_EXHAUSTED', eventId: 'dead deadLetter' });
    await provision(ports, messageOf(2), context);
    await provision(ports, messageOf(3), context).catch(() => undefined);
    return ports.vms.create(request);
  };

  await provision({ ...ports, vms: { ...ports.vms, create } }, messageOf(1), context);

  expect(await readJob()).toMatchObject({
    status: 'PREPARING',
    placement: { zone: ZONES[1] },
    exhaustedZones: [ZONES[0]],
    counts: { createFailures: 1 },
  });
});

it('expects the first heartbeat of a VM even if an earlier VM of the same name has sent one', async () => {
  cloud.answer = () => {
    throw new Error('Compute Engine is unavailable.');
  };
  await deliver(1_000).catch(() => undefined);
  const earlier = { jobId: 'digits', at: 2_000, attempt: 1, replica: 'master-0' };
  await handleJobEvent(ports, { ...earlier, type: 'REPLICA_REPORTED', eventId: 'first heartbeat' });
  cloud.answer = () => ({ outcome: 'CREATED', instanceId: '2' });
  await deliver(3_000);

  expect(await ports.replicas.listExpired(3_000 + TIMEOUTS.bootMs, 10)).toMatchObject([{ instanceId: '2' }]);
});

it('deletes a VM that was created after the job had ended', async () => {
  cloud.answer = (request) => {
    void ports.jobs.read('digits').then((stored) =>
      ports.jobs.commit({
        expectedRevision: stored?.revision ?? 0,
        eventId: 'over',
        record: {
          ...simulatedJob('digits', 0),
          status: 'CLOSED',
          verdict: { state: 'CANCELLED', cause: null },
          endedAt: 2_000,
          kept: null,
        },
        effects: [],
      }),
    );
    return { outcome: 'CREATED', instanceId: request.vmName };
  };

  await deliver(1_000);

  expect(cloud.deleted).toEqual([cloud.requests[0]?.vmName]);
});

/** The second attempt of the job, and the metadata of its manifest. */
async function interrupt(metadata: Readonly<Record<string, string>>) {
  await deliver(1_000);
  const { spec } = await readJob();
  const { bucket, name } = parseGsUri(`${spec.jobDir}/dropforge-manifest.json`);
  const cause = causeOf('HEARTBEAT_LOST', 'No heartbeat for 120 s.');
  const event = {
    type: 'ATTEMPT_INTERRUPTED',
    eventId: 'lost',
    jobId: 'digits',
    at: 2_000,
    attempt: 1,
    cause,
  } as const;
  await handleJobEvent(ports, event);
  const info = { bucket, name, generation: '1', sizeBytes: 1, crc32c: '', contentType: '', updatedAt: 0 };
  cloud.objects.set(`gs://${bucket}/${name}`, { ...info, metadata });
  await stage.deliver('digits', 3_000, { attempt: 2 });
  return (await ports.jobs.read('digits'))?.record;
}

const RECORDED = { 'dropforge-job': 'digits', 'dropforge-attempt': '1', 'dropforge-succeeded': 'true' };

it('closes a job whose program has recorded its success before its VM was lost, and creates no VM', async () => {
  const job = await interrupt(RECORDED);
  expect(job).toMatchObject({
    status: 'CLOSING',
    verdict: { state: 'SUCCEEDED', cause: null },
    ledger: [
      { attempt: 1, cause: { code: 'HEARTBEAT_LOST' } },
      { attempt: 2, cause: null, zone: null },
    ],
  });
  expect(cloud.requests).toHaveLength(1);
});

it.each([
  ['is not complete', { ...RECORDED, 'dropforge-succeeded': 'false' }],
  ['is of another job', { ...RECORDED, 'dropforge-job': 'other' }],
  ['is of this attempt, whose message came again', { ...RECORDED, 'dropforge-attempt': '2' }],
  ['is a file of the user', {}],
])('runs a program again if the record %s', async (_, metadata) => {
  expect(await interrupt(metadata)).toMatchObject({ status: 'PREPARING', attempt: 2 });
  expect(cloud.requests).toHaveLength(2);
});

it('runs a program again if its job directory may not be read', async () => {
  ports = { ...ports, objects: { stat: (object) => Promise.reject(new AccessDeniedError(object)) } };
  const record = { attempt: 1, zone: null, provisioningModel: null, placedAt: null, ranAt: null, endedAt: 2_000 };
  const cause = causeOf('HEARTBEAT_LOST', 'No heartbeat for 120 s.');
  const job = { ...(await readJob()), attempt: 2, ledger: [{ ...record, cause }] };
  expect(await findSuccess(ports.objects, job)).toBe(false);
});
