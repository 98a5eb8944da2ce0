import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/database.ts';
import { openSqliteCapacityMemory } from '#infra/embedded/jobs/sqlite-capacity-memory.ts';
import { openSqliteJobStore } from '#infra/embedded/jobs/sqlite-job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/jobs/sqlite-replica-store.ts';
import { causeOf } from '#shared/domain/cause.ts';
import { DEADLINES } from '#shared/domain/deadlines.ts';
import type { JobIn } from '#shared/domain/job.ts';
import { type ProvisionPorts, provision } from '#shared/pipeline/provision.ts';
import type { CreateOutcome, VmRequest } from '#shared/ports/vm-provider.ts';
import { simulatedJob, simulatedSettings, ZONES } from '../../simulation/simulated-job.ts';

const MESSAGE = { jobId: 'digits', attempt: 1, placementTry: 1 };

let database: Database;
let ports: ProvisionPorts;
let requests: VmRequest[];
let deleted: string[];
let answer: (request: VmRequest) => CreateOutcome;

beforeEach(async () => {
  database = openDatabase(':memory:');
  requests = [];
  deleted = [];
  answer = () => ({ outcome: 'CREATED', instanceId: String(requests.length) });
  ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    capacity: openSqliteCapacityMemory(database),
    bus: { publish: async () => 'id' },
    deadlines: DEADLINES,
    vms: {
      create: async (request) => {
        requests.push(request);
        return answer(request);
      },
      delete: async ({ vmName }) => {
        deleted.push(vmName);
        return 'GONE';
      },
      list: async () => [],
    },
  };
  await ports.jobs.create(simulatedJob('digits', 0), []);
});

afterEach(() => database.close());

const deliver = (now: number) => provision(ports, MESSAGE, { now, settings: simulatedSettings });
const readJob = async () => (await ports.jobs.read('digits'))?.job as JobIn<'PREPARING'>;

it('writes the place down before it creates anything in it', async () => {
  answer = () => {
    throw new Error('Compute Engine is unavailable.');
  };

  await expect(deliver(1_000)).rejects.toThrow('unavailable');

  expect(await readJob()).toMatchObject({ status: 'PREPARING', placement: { zone: ZONES[0] }, instances: [] });
});

it('asks for the same VM again when it is told twice', async () => {
  answer = () => {
    throw new Error('Compute Engine is unavailable.');
  };
  await deliver(1_000).catch(() => undefined);
  answer = () => ({ outcome: 'CREATED', instanceId: '7' });
  await deliver(2_000);
  await deliver(3_000);

  expect(requests.map(({ vmName, zone }) => [vmName, zone])).toEqual(Array(2).fill([requests[0]?.vmName, ZONES[0]]));
  expect((await readJob()).instances).toMatchObject([{ instanceId: '7' }]);
});

it("leaves the lease of the job's own VM alone when a second delivery has met another of the same name", async () => {
  const [first] = await Promise.all([deliver(1_000), deliver(1_000)]);
  expect(first).toBeUndefined();

  const job = await readJob();
  const replicas = await ports.replicas.listByJob('digits');

  expect(requests).toHaveLength(2);
  expect(replicas.map(({ instanceId }) => instanceId)).toEqual(job.instances.map(({ instanceId }) => instanceId));
  expect(deleted).toHaveLength(1);
});

it('goes to the next zone after a refusal, and remembers it for all jobs', async () => {
  answer = ({ zone }) => ({
    outcome: 'REFUSED',
    refusal: { cause: causeOf('STOCKOUT', `${zone} is full.`), zonesAvailable: [] },
  });

  await deliver(1_000);

  expect(await readJob()).toMatchObject({ status: 'QUEUED', refusedZones: [ZONES[0]], placementTry: 2 });
  const query = { machineKey: 'n1-standard-4', provisioningModel: 'STANDARD', since: 0 } as const;
  expect(await ports.capacity.recall(query)).toMatchObject([{ zone: ZONES[0], refusedAt: 1_000 }]);
});

it('deletes a VM that came when the job was over already', async () => {
  answer = (request) => {
    void ports.jobs.read('digits').then((stored) =>
      ports.jobs.commit({
        expectedRevision: stored?.revision ?? 0,
        eventId: 'over',
        job: {
          ...simulatedJob('digits', 0),
          status: 'CLOSED',
          verdict: { state: 'CANCELLED', cause: null },
          endedAt: 2_000,
        },
        effects: [],
      }),
    );
    return { outcome: 'CREATED', instanceId: request.vmName };
  };

  await deliver(1_000);

  expect(deleted).toEqual([requests[0]?.vmName]);
});
