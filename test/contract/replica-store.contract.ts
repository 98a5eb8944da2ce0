import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import { exampleReplica } from '../support/domain/example-replica.ts';

/** The contract of every ReplicaStore. */
export function describeReplicaStoreContract(name: string, open: OpenStore<ReplicaStore>): void {
  describe(`${name} as a replica store`, () => {
    let opened: StoreUnderTest<ReplicaStore>;
    let store: ReplicaStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describeRecords(() => store);
    describeLeases(() => store);

    it('shares records, leases and sequence numbers with another connection', async () => {
      await store.record(replica({ sequence: 5 }));
      const other = await opened.connect();
      expect(await other.findByInstance('101')).toEqual(replica({ sequence: 5 }));
      expect(await other.listExpired(1_000, 10)).toHaveLength(1);
      expect(await other.record(replica({ sequence: 4 }))).toBe('OUTDATED');
    });

    it('keeps the latest of concurrent heartbeats', async () => {
      const stores = [store, await opened.connect()];
      await Promise.all([3, 1, 8, 2, 7, 5].map((sequence, index) => stores[index % 2]?.record(replica({ sequence }))));
      expect((await store.findByInstance('101'))?.sequence).toBe(8);
    });
  });
}

const exited = {
  phase: 'EXITED',
  exit: { outcome: 'FAILED', cause: causeOf('PROGRAM_FAILED', 'It ended with status 1.') },
} as const;

function replica(facts: Partial<Replica> = {}): Replica {
  return { ...exampleReplica(), sequence: 1, leaseExpiresAt: 1_000, ...facts };
}

async function recordAll(store: ReplicaStore, replicas: readonly Replica[]): Promise<void> {
  for (const each of replicas) {
    expect(await store.record(each)).toBe('RECORDED');
  }
}

function describeRecords(store: () => ReplicaStore): void {
  it('reads the last heartbeat', async () => {
    const progress = { step: 3, stepsMax: 10, metrics: { 'val_loss/é': 0.25 } };
    await recordAll(store(), [replica(), replica({ sequence: 2, phase: 'RUNNING', progress })]);
    expect(await store().findByInstance('101')).toEqual(replica({ sequence: 2, phase: 'RUNNING', progress }));
    expect(await store().listByAttempt({ jobId: 'digits', attempt: 1 })).toHaveLength(1);
  });

  it('does not replace a later heartbeat by an earlier one', async () => {
    await recordAll(store(), [replica({ sequence: 5, phase: 'RUNNING' })]);
    expect(await store().record(replica({ sequence: 4, phase: 'INSTALLING', leaseExpiresAt: 9_000 }))).toBe('OUTDATED');
    expect(await store().listByAttempt({ jobId: 'digits', attempt: 1 })).toEqual([
      replica({ sequence: 5, phase: 'RUNNING' }),
    ]);
  });

  it('accepts the same heartbeat again, so that a crashed handler can be repeated', async () => {
    await recordAll(store(), [replica({ sequence: 5 }), replica({ sequence: 5, leaseExpiresAt: null })]);
    expect((await store().findByInstance('101'))?.leaseExpiresAt).toBeNull();
  });

  it('does not replace an exit by a heartbeat of the same VM, not even with a higher number', async () => {
    await recordAll(store(), [replica({ sequence: 5, ...exited })]);
    for (const sequence of [4, 5, 6]) {
      expect(await store().record(replica({ sequence, phase: 'RUNNING' })), `sequence ${sequence}`).toBe('OUTDATED');
    }
    expect(await store().findByInstance('101')).toEqual(replica({ sequence: 5, ...exited }));
  });

  it('accepts a new VM of a replica from the lowest sequence number', async () => {
    await recordAll(store(), [replica({ sequence: 5, ...exited }), replica({ instanceId: '102', sequence: 1 })]);
    expect(await store().listByAttempt({ jobId: 'digits', attempt: 1 })).toEqual([
      replica({ instanceId: '102', sequence: 1 }),
    ]);
    expect(await store().findByInstance('102')).toEqual(replica({ instanceId: '102', sequence: 1 }));
    expect(await store().findByInstance('101')).toBeUndefined();
  });

  it('lists the replicas of one attempt of a job', async () => {
    const records = [
      replica({ attempt: 1 }),
      replica({ attempt: 2, instanceId: '201' }),
      replica({ attempt: 2, replica: 'worker-0', instanceId: '202' }),
      replica({ jobId: 'other', instanceId: '301' }),
    ];
    await recordAll(store(), records);
    const own = (await store().listByAttempt({ jobId: 'digits', attempt: 2 })).map(({ instanceId }) => instanceId);
    expect(own).toEqual(['201', '202']);
    expect(await store().listByAttempt({ jobId: 'unknown', attempt: 1 })).toEqual([]);
  });

  it('returns undefined for an instance without a record', async () => {
    expect(await store().findByInstance('101')).toBeUndefined();
  });
}

function describeLeases(store: () => ReplicaStore): void {
  it('lists replicas with an expired lease, most overdue first, up to a count', async () => {
    for (const leaseExpiresAt of [3_000, 1_000, 2_000, 4_000]) {
      await store().record(
        replica({ jobId: `until_${leaseExpiresAt}`, instanceId: `${leaseExpiresAt}`, leaseExpiresAt }),
      );
    }
    const namesAt = async (now: number, countMax: number) =>
      (await store().listExpired(now, countMax)).map(({ jobId }) => jobId);
    expect(await namesAt(999, 10)).toEqual([]);
    expect(await namesAt(1_000, 10)).toEqual(['until_1000']);
    expect(await namesAt(3_999, 10)).toEqual(['until_1000', 'until_2000', 'until_3000']);
    expect(await namesAt(9_999, 2)).toEqual(['until_1000', 'until_2000']);
  });

  it('is renewed by every heartbeat, and cleared with null', async () => {
    await store().record(replica({ sequence: 1, leaseExpiresAt: 1_000 }));
    await store().record(replica({ sequence: 2, leaseExpiresAt: 2_000 }));
    expect(await store().listExpired(1_999, 10)).toEqual([]);
    expect(await store().listExpired(2_000, 10)).toHaveLength(1);
    await store().record(replica({ sequence: 3, leaseExpiresAt: null }));
    expect(await store().listExpired(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  it("clears the leases of a job's attempts up to a given one, and no others", async () => {
    const records = [1, 2, 3].map((attempt) => replica({ attempt, instanceId: `${attempt}` }));
    await recordAll(store(), [...records, replica({ jobId: 'other', attempt: 1, instanceId: '9' })]);
    await store().clearLeases('digits', 2);
    await store().clearLeases('digits', 2);
    const waitedFor = (await store().listExpired(9_999, 10)).map(({ jobId, attempt }) => `${jobId}/${attempt}`);
    expect([...waitedFor].sort()).toEqual(['digits/3', 'other/1']);
    expect(await store().findByInstance('1')).toEqual({
      ...replica({ attempt: 1, instanceId: '1' }),
      leaseExpiresAt: null,
    });
  });

  it('returns the time of the newest heartbeat, without replicas that have sent none', async () => {
    expect(await store().lastHeartbeatAt()).toBeUndefined();
    const expected = { sequence: 0, heardAt: 9_000, leaseExpiresAt: null };
    await recordAll(store(), [replica({ ...expected, replica: 'worker-0', instanceId: '102' })]);
    expect(await store().lastHeartbeatAt()).toBeUndefined();
    for (const [instanceId, heardAt] of [
      ['201', 3_000],
      ['202', 5_000],
      ['203', 4_000],
    ] as const) {
      await store().record(replica({ jobId: `job_${instanceId}`, instanceId, heardAt }));
    }
    await store().clearLeases('job_202', 1);
    expect(await store().lastHeartbeatAt()).toBe(5_000);
  });

  it('keeps a replica suspect until its next heartbeat', async () => {
    await recordAll(store(), [
      replica({ sequence: 5 }),
      replica({ sequence: 5, leaseExpiresAt: 2_000, suspectSince: 1_500 }),
    ]);
    expect(await store().listExpired(2_000, 10)).toEqual([
      replica({ sequence: 5, leaseExpiresAt: 2_000, suspectSince: 1_500 }),
    ]);
    await recordAll(store(), [replica({ sequence: 6 })]);
    expect(await store().findByInstance('101')).toEqual(replica({ sequence: 6 }));
  });
}
