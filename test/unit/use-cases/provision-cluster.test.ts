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

  it('comes up whole or not at all: what was made beside a refused VM is deleted', async () => {
    cloud.answer = (request) =>
      isWorker(request)
        ? { outcome: 'FAILED', failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] } }
        : { outcome: 'CREATED', instanceId: '1' };

    await deliverPair(1_000);

    expect(cloud.deleted).toEqual(cloud.requests.filter((request) => !isWorker(request)).map(({ vmName }) => vmName));
    expect(await readPair()).toMatchObject({ status: 'QUEUED', exhaustedZones: [ZONES[0]] });
  });

  it.each([
    ['another job’s', { jobId: 'stranger', attempt: 1 }],
    ['another attempt’s', { jobId: 'pair', attempt: 2 }],
  ])('leaves a VM alone that bears a refused name and is %s', async (_, owner) => {
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

  describe('of which a part is refused for its pace', () => {
    const hurried: CreateOutcome = {
      outcome: 'FAILED',
      failure: { cause: causeOf('RATE_LIMITED', 'Too many VMs of this machine image.'), zonesAvailable: [] },
    };
    const made = ({ role }: VmRequest): CreateOutcome => ({ outcome: 'CREATED', instanceId: role });
    const rolesAsked = () => cloud.requests.map(({ role }) => role);

    it('keeps what was made, and asks for the rest again after a while', async () => {
      cloud.answer = (request) => (isWorker(request) && cloud.requests.length < 4 ? hurried : made(request));

      await deliverPair(1_000);

      expect(rolesAsked()).toEqual(['master', 'worker', 'worker', 'worker']);
      expect([cloud.pauses, cloud.deleted]).toEqual([RATE_PAUSES_MS.slice(0, 2), []]);
      expect((await readPair()).instances.map(({ role }) => role)).toEqual(['master', 'worker']);
    });

    it('says who is who although the master was the one to be late', async () => {
      cloud.answer = (request) => (!isWorker(request) && cloud.requests.length < 3 ? hurried : made(request));

      await deliverPair(1_000);

      expect((await readPair()).instances.map(({ role }) => role)).toEqual(['master', 'worker']);
    });

    it('gives up within the time that its job waits for an answer, and leaves nothing behind', async () => {
      cloud.answer = (request) => (isWorker(request) ? hurried : made(request));

      await deliverPair(1_000);

      expect(cloud.pauses).toEqual(RATE_PAUSES_MS);
      expect(RATE_PAUSES_MS.reduce((sum, ms) => sum + ms)).toBeLessThan(TIMEOUTS.provisionAnswerMs / 2);
      expect(cloud.deleted).toEqual([cloud.requests[0]?.vmName]);
      expect(await readPair()).toMatchObject({ status: 'QUEUED', isBackingOff: true });
    });

    it('waits for none where nothing was made, or another refusal decides', async () => {
      cloud.answer = () => hurried;
      await deliverPair(1_000);
      expect([cloud.pauses, rolesAsked()]).toEqual([[], ['master', 'worker']]);

      await ports.jobs.create(simulatedJob('trio', 0, { others: [{ role: 'worker', count: 2 }] }), []);
      const full: CreateOutcome = {
        outcome: 'FAILED',
        failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] },
      };
      cloud.answer = (request) => (isWorker(request) ? (request.index === 0 ? full : hurried) : made(request));
      await stage.deliver('trio', 1_000);

      expect(cloud.pauses).toEqual([]);
      expect(await stage.readJob('trio')).toMatchObject({ status: 'QUEUED', exhaustedZones: [ZONES[0]] });
    });
  });

  it('goes to the next zone at once although another of its creations was not answered', async () => {
    cloud.answer = (request) => {
      if (!isWorker(request)) {
        throw new Error('Compute Engine is unavailable.');
      }
      return { outcome: 'FAILED', failure: { cause: causeOf('STOCKOUT', 'Full.'), zonesAvailable: [] } };
    };
    const underWay = { jobId: 'pair', attempt: 1, vmName: 'any', zone: String(ZONES[0]), instanceId: '9' };
    cloud.vm = { ...underWay, status: 'STARTING' };

    await deliverPair(1_000);

    expect(cloud.deleted).toHaveLength(2);
    expect(await readPair()).toMatchObject({ status: 'QUEUED', placementRound: 2 });
  });

  it('is not reported before all of it exists, and the same VMs are asked for again', async () => {
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

  it('waits for the first word of every replica, though the process died before all were written down', async () => {
    const dying = { ...ports.replicas, record: () => Promise.reject(new Error('The process died.')) };
    await expect(stage.deliver('pair', 1_000, { replicas: dying })).rejects.toThrow('died');
    expect(await ports.replicas.listByJob('pair')).toEqual([]);

    await deliverPair(2_000);

    const due = await ports.replicas.listExpired(2_000 + TIMEOUTS.bootMs, 10);
    expect(due.map(({ replica }) => replica)).toEqual(['worker-0']);
    expect((await ports.replicas.listByJob('pair')).map(({ replica }) => replica)).toEqual(['master-0', 'worker-0']);
  });
});
