import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { CreateOutcome, VmRequest } from '#shared/ports/vm-provider.ts';
import { RATE_PAUSES_MS } from '#shared/use-cases/provision/create-vms.ts';
import { simulatedJob, ZONES } from '../../simulation/simulated-job.ts';
import { openProvision, type ProvisionUnderTest } from '../../support/use-cases/provision-under-test.ts';

let stage: ProvisionUnderTest;
let cloud: ProvisionUnderTest['cloud'];
let ports: ProvisionUnderTest['ports'];

beforeEach(async () => {
  stage = openProvision();
  ({ cloud, ports } = stage);
  await ports.jobs.create(simulatedJob('pair', 0, { others: [{ role: 'worker', count: 1 }] }), []);
});

afterEach(() => stage.close());

describe('a cluster', () => {
  const deliverPair = (now: number) => stage.deliver('pair', now);
  const readPair = () => stage.readJob('pair');
  const isWorker = ({ role }: VmRequest) => role === 'worker';

  it('is created all or none: if one VM fails, the others are deleted', async () => {
    cloud.answer = (request) =>
      isWorker(request)
        ? { outcome: 'FAILED', failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] } }
        : { outcome: 'CREATED', instanceId: '1' };

    await deliverPair(1_000);

    expect(cloud.deleted).toEqual(cloud.requests.filter((request) => !isWorker(request)).map(({ vmName }) => vmName));
    expect(await readPair()).toMatchObject({
      status: 'QUEUED',
      exhaustedZones: [ZONES[0]],
      counts: { unusedVms: 1 },
    });
  });

  it.each([
    ['of another job', { jobId: 'stranger', attempt: 1 }],
    ['of another attempt', { jobId: 'pair', attempt: 2 }],
  ])('does not delete a VM of the same name that is %s', async (_, owner) => {
    const taken = causeOf('CONFIGURATION_REFUSED', 'The resource already exists.');
    cloud.answer = (request) =>
      isWorker(request)
        ? { outcome: 'FAILED', failure: { cause: taken, zonesAvailable: [] } }
        : { outcome: 'CREATED', instanceId: '1' };
    cloud.vm = { ...owner, vmName: 'any', zone: String(ZONES[0]), instanceId: '9', status: 'RUNNING' };

    await deliverPair(1_000);

    expect(cloud.deleted).toEqual([cloud.requests.find((request) => !isWorker(request))?.vmName]);
    expect(await readPair()).toMatchObject({ status: 'CLOSING' });
  });

  describe('of which a part is rate limited', () => {
    const rateLimited: CreateOutcome = {
      outcome: 'FAILED',
      failure: { cause: causeOf('RATE_LIMITED', 'Too many VMs of this machine image.'), zonesAvailable: [] },
    };
    const created = ({ role }: VmRequest): CreateOutcome => ({ outcome: 'CREATED', instanceId: role });
    const requestedRoles = () => cloud.requests.map(({ role }) => role);

    it('keeps the VMs that were created, and retries the others after a backoff', async () => {
      cloud.answer = (request) => (isWorker(request) && cloud.requests.length < 4 ? rateLimited : created(request));

      await deliverPair(1_000);

      expect(requestedRoles()).toEqual(['master', 'worker', 'worker', 'worker']);
      expect([cloud.pauses, cloud.deleted]).toEqual([RATE_PAUSES_MS.slice(0, 2), []]);
      expect((await readPair()).instances.map(({ role }) => role)).toEqual(['master', 'worker']);
    });

    it('keeps the order of replicas if the master was created last', async () => {
      cloud.answer = (request) => (!isWorker(request) && cloud.requests.length < 3 ? rateLimited : created(request));

      await deliverPair(1_000);

      expect((await readPair()).instances.map(({ role }) => role)).toEqual(['master', 'worker']);
    });

    it('fails within the provision timeout of its job, and leaves no VM behind', async () => {
      cloud.answer = (request) => (isWorker(request) ? rateLimited : created(request));

      await deliverPair(1_000);

      expect(cloud.pauses).toEqual(RATE_PAUSES_MS);
      expect(RATE_PAUSES_MS.reduce((sum, ms) => sum + ms)).toBeLessThan(TIMEOUTS.provisionAnswerMs / 2);
      expect(cloud.deleted).toEqual([cloud.requests[0]?.vmName]);
      expect(await readPair()).toMatchObject({ status: 'QUEUED', isBackingOff: true });
    });

    it('does not retry if no VM was created, or if another failure decides', async () => {
      cloud.answer = () => rateLimited;
      await deliverPair(1_000);
      expect([cloud.pauses, requestedRoles()]).toEqual([[], ['master', 'worker']]);

      await ports.jobs.create(simulatedJob('trio', 0, { others: [{ role: 'worker', count: 2 }] }), []);
      const full: CreateOutcome = {
        outcome: 'FAILED',
        failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] },
      };
      cloud.answer = (request) => (isWorker(request) ? (request.index === 0 ? full : rateLimited) : created(request));
      await stage.deliver('trio', 1_000);

      expect(cloud.pauses).toEqual([]);
      expect(await stage.readJob('trio')).toMatchObject({ status: 'QUEUED', exhaustedZones: [ZONES[0]] });
    });
  });

  it('falls back to the next zone at once even if another creation had no answer', async () => {
    cloud.answer = (request) => {
      if (!isWorker(request)) {
        throw new Error('Compute Engine is unavailable.');
      }
      return { outcome: 'FAILED', failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] } };
    };
    const inProgress = { jobId: 'pair', attempt: 1, vmName: 'any', zone: String(ZONES[0]), instanceId: '9' };
    cloud.vm = { ...inProgress, status: 'STARTING' };

    await deliverPair(1_000);

    expect(cloud.deleted).toHaveLength(2);
    expect(await readPair()).toMatchObject({ status: 'QUEUED', placementRound: 2 });
  });

  it('is not reported before all VMs exist, and the same VMs are requested again', async () => {
    cloud.answer = (request) => {
      if (isWorker(request)) {
        throw new Error('Compute Engine is unavailable.');
      }
      return { outcome: 'CREATED', instanceId: '1' };
    };
    await expect(deliverPair(1_000)).rejects.toThrow('unavailable');
    expect((await readPair()).instances).toEqual([]);

    cloud.answer = (request) => ({ outcome: 'CREATED', instanceId: request.role });
    await deliverPair(2_000);

    expect((await readPair()).instances.map(({ role }) => role)).toEqual(['master', 'worker']);
    expect(new Set(cloud.requests.map(({ vmName }) => vmName)).size).toBe(2);
  });

  it('expects the first heartbeat of every replica, even if the process crashed before recording all', async () => {
    const crashing = { ...ports.replicas, record: () => Promise.reject(new Error('The process crashed.')) };
    await expect(stage.deliver('pair', 1_000, { replicas: crashing })).rejects.toThrow('crashed');
    expect(await ports.replicas.listByAttempt({ jobId: 'pair', attempt: 1 })).toEqual([]);

    await deliverPair(2_000);

    const due = await ports.replicas.listExpired(2_000 + TIMEOUTS.bootMs, 10);
    expect(due.map(({ replica }) => replica)).toEqual(['worker-0']);
    expect((await ports.replicas.listByAttempt({ jobId: 'pair', attempt: 1 })).map(({ replica }) => replica)).toEqual([
      'master-0',
      'worker-0',
    ]);
  });
});
