import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { simulatedJob, ZONES } from '../../simulation/simulated-job.ts';
import { openProvision, type ProvisionUnderTest } from '../../support/use-cases/provision-under-test.ts';

let stage: ProvisionUnderTest;
let cloud: ProvisionUnderTest['cloud'];
let ports: ProvisionUnderTest['ports'];

afterEach(() => stage.close());

describe('a VM that waits for capacity', () => {
  const deliver = (now: number) => stage.deliver('waiting', now);
  const readJob = () => stage.readJob('waiting');
  const waiting = (status: Vm['status']): Vm => {
    const { vmName = '', zone = '' } = cloud.requests[0] ?? {};
    return { vmName, zone, instanceId: '9', jobId: 'waiting', attempt: 1, status };
  };

  beforeEach(async () => {
    stage = openProvision();
    ({ cloud, ports } = stage);
    await ports.jobs.create(simulatedJob('waiting', 0, { provisioningModel: 'FLEX_START' }), []);
    cloud.answer = () => ({ outcome: 'PENDING', instanceId: '9' });
    await deliver(1_000);
  });

  it('is requested once, with the longest wait that Compute Engine allows', async () => {
    expect(cloud.requests).toMatchObject([{ provisioningModel: 'FLEX_START', capacityWaitSeconds: 7_200 }]);
    cloud.vm = waiting('PENDING');
    await deliver(120_000);
    await deliver(240_000);

    expect(cloud.requests).toHaveLength(1);
    expect(await readJob()).toMatchObject({ status: 'PREPARING', pendingUntil: 7_201_000, instances: [] });
    expect(await ports.replicas.listByAttempt({ jobId: 'waiting', attempt: 1 })).toEqual([]);
  });

  it.each(['STARTING', 'RUNNING', 'TERMINATED'] as const)(
    "becomes the job's instance once it is %s",
    async (status) => {
      cloud.vm = waiting(status);
      await deliver(3_600_000);

      expect((await readJob()).instances).toMatchObject([{ instanceId: '9', role: 'master' }]);
      expect(await ports.replicas.listByAttempt({ jobId: 'waiting', attempt: 1 })).toMatchObject([
        { instanceId: '9', phase: 'BOOTING' },
      ]);
    },
  );

  it('that is gone is a capacity failure: the next zone follows, and the failure is shared by all jobs', async () => {
    await deliver(7_300_000);

    expect(await readJob()).toMatchObject({
      status: 'QUEUED',
      exhaustedZones: [ZONES[0]],
      waitingFor: {
        code: 'STOCKOUT',
        message: `No capacity for n1-standard-4 became available in ${ZONES[0]} within the 120 min that the request could wait.`,
      },
    });
    const query = { machineKey: 'n1-standard-4', provisioningModel: 'FLEX_START', since: 0 } as const;
    expect(await ports.capacity.recall(query)).toMatchObject([{ zone: ZONES[0] }]);
  });

  it('is deleted if it waits longer than requested', async () => {
    cloud.vm = waiting('PENDING');
    await deliver(7_201_000 + TIMEOUTS.pendingMs - 1);
    expect(cloud.deleted).toEqual([]);
    await deliver(7_201_000 + TIMEOUTS.pendingMs);

    expect(cloud.deleted).toEqual([cloud.vm.vmName]);
    expect(await readJob()).toMatchObject({ status: 'QUEUED', placementRound: 2 });
  });

  it('of a cluster leads to the next zone if others have waited for it for too long, and is deleted with them', async () => {
    const others = [{ role: 'worker', count: 1 }] as const;
    await ports.jobs.create(simulatedJob('pair', 0, { provisioningModel: 'FLEX_START', others }), []);
    cloud.requests.splice(0);
    cloud.answer = ({ role }) => ({ outcome: role === 'master' ? 'CREATED' : 'PENDING', instanceId: role });
    await stage.deliver('pair', 1_000);
    expect(await stage.readJob('pair')).toMatchObject({ assemblingSince: 1_000, instances: [] });

    const [first] = cloud.requests;
    cloud.find = (vmName) => waiting(vmName === first?.vmName ? 'RUNNING' : 'PENDING');
    await stage.deliver('pair', 1_000 + TIMEOUTS.assemblyMs - 1);
    expect(cloud.deleted).toEqual([]);
    await stage.deliver('pair', 1_000 + TIMEOUTS.assemblyMs);

    expect(cloud.deleted).toEqual(cloud.requests.map(({ vmName }) => vmName));
    expect(await stage.readJob('pair')).toMatchObject({
      status: 'QUEUED',
      exhaustedZones: [ZONES[0]],
      counts: { unusedVms: 1 },
      waitingFor: {
        code: 'STOCKOUT',
        message: expect.stringMatching(/^Only 1 of 2 VMs .* for 10 min: they were deleted/),
      },
    });
  });

  const createPair = async () => {
    const others = [{ role: 'worker', count: 1 }] as const;
    await ports.jobs.create(simulatedJob('pair', 0, { provisioningModel: 'FLEX_START', others }), []);
    cloud.requests.splice(0);
    await stage.deliver('pair', 1_000);
    const [first] = cloud.requests;
    return (vmName: string) => vmName === first?.vmName;
  };

  it.each(['STARTING', 'RUNNING'] as const)('of a cluster is awaited from when another is found %s', async (status) => {
    const isFirst = await createPair();
    cloud.find = (vmName) => waiting(isFirst(vmName) ? status : 'PENDING');
    await stage.deliver('pair', 121_000);
    expect(await stage.readJob('pair')).toMatchObject({
      assemblingSince: 121_000,
      waitingFor: { message: expect.stringMatching(/^1 of 2 VMs have started/) },
    });
  });

  it('of a cluster is deleted with its master if it is gone, also after a first heartbeat', async () => {
    const isFirst = await createPair();
    const event = { jobId: 'pair', attempt: 1, replica: 'master-0', at: 60_000 };
    await handleJobEvent(ports, { ...event, type: 'REPLICA_REPORTED', eventId: 'first of the master' });
    expect(cloud.requests[0]?.role).toBe('master');
    cloud.find = (vmName) => (isFirst(vmName) ? waiting('RUNNING') : undefined);
    await stage.deliver('pair', 61_000);
    expect(cloud.deleted).toEqual(cloud.requests.map(({ vmName }) => vmName));
    expect(await stage.readJob('pair')).toMatchObject({ status: 'QUEUED', exhaustedZones: [ZONES[0]] });
  });

  it.each([
    ['after others had started', 'CREATED', 7_300_000],
    ['before its request had ended', 'PENDING', 720_000],
  ] as const)('of a cluster counts as used for nothing if it is gone %s', async (_, ofWorker, now) => {
    const others = [{ role: 'worker', count: 1 }] as const;
    await ports.jobs.create(simulatedJob('pair', 0, { provisioningModel: 'FLEX_START', others }), []);
    cloud.answer = ({ role }) => ({ outcome: role === 'master' ? 'PENDING' : ofWorker, instanceId: role });
    await stage.deliver('pair', 1_000);
    // Another delivery has deleted them, and was not first to report it.
    cloud.find = () => undefined;
    await stage.deliver('pair', now);

    const job = await stage.readJob('pair');
    expect(job).toMatchObject({ status: 'QUEUED', exhaustedZones: [ZONES[0]], counts: { unusedVms: 2 } });
    expect(job.waitingFor?.message).toMatch(/ 2 were gone \d+ min after their request/);
  });

  it('is not a stockout if it has sent a heartbeat before it was lost', async () => {
    const { vmName, zone, instanceId } = waiting('RUNNING');
    const event = { jobId: 'waiting', attempt: 1, replica: 'master-0', at: 60_000 };
    await handleJobEvent(ports, {
      ...event,
      type: 'REPLICA_REPORTED',
      eventId: `first ${vmName} ${zone} ${instanceId}`,
    });
    await deliver(61_000);

    expect(await readJob()).toMatchObject({ status: 'PREPARING', exhaustedZones: [] });
  });

  it.each([
    ['no longer than the job may wait', 600_000, 599],
    ['at least the minimum of Compute Engine', 60_000, 90],
  ])('waits %s', async (_, maxWaitMs, seconds) => {
    const job = simulatedJob('hasty', 0, { provisioningModel: 'FLEX_START' });
    const limits = { ...job.spec.limits, maxWaitMs };
    await ports.jobs.create({ ...job, spec: { ...job.spec, limits } }, []);
    await stage.deliver('hasty', 1_000);

    expect(cloud.requests.at(-1)?.capacityWaitSeconds).toBe(seconds);
  });
});
