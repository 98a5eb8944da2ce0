import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CAPACITY_FAILURE_AGE_MS_MAX, type CapacityFailure } from '#shared/domain/capacity.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';

/** Limit on the entries that one recall returns. */
const FAILURES_READ_MAX = 500;

const NOW = 1_000_000_000;
const query = { machineKey: 'n1-standard-4+1xNVIDIA_TESLA_T4', provisioningModel: 'STANDARD', since: 0 } as const;

function failure(facts: Partial<CapacityFailure> = {}): CapacityFailure {
  const { machineKey, provisioningModel } = query;
  return { zone: 'us-central1-a', machineKey, provisioningModel, failedAt: NOW, ...facts };
}

/** The contract of every CapacityHistory. */
export function describeCapacityHistoryContract(name: string, open: OpenStore<CapacityHistory>): void {
  describe(`${name} as a capacity history`, () => {
    let opened: StoreUnderTest<CapacityHistory>;
    let history: CapacityHistory;

    beforeEach(async () => {
      opened = await open();
      history = opened.store;
    });
    afterEach(() => opened.close());

    it('is empty at first', async () => {
      expect(await history.recall(query)).toEqual([]);
    });

    it('recalls a failure for every job that needs the same machine', async () => {
      await history.record(failure());
      expect(await history.recall(query)).toEqual([failure()]);
      expect(await (await opened.connect()).recall(query)).toEqual([failure()]);
    });

    it('separates machines and provisioning models', async () => {
      await history.record(failure({ machineKey: 'n1-standard-8' }));
      await history.record(failure({ provisioningModel: 'SPOT' }));
      expect(await history.recall(query)).toEqual([]);
      expect(await history.recall({ ...query, provisioningModel: 'SPOT' })).toHaveLength(1);
    });

    it('recalls every failure of a zone', async () => {
      const failures = [failure(), failure({ failedAt: NOW + 1 }), failure({ zone: 'us-central1-b' })];
      await Promise.all(failures.map((each) => history.record(each)));
      const recalled = await history.recall(query);
      expect(recalled).toHaveLength(3);
      expect(recalled).toEqual(expect.arrayContaining(failures));
    });

    it('recalls no failure from before the given time', async () => {
      await history.record(failure({ failedAt: NOW - 1 }));
      await history.record(failure({ failedAt: NOW }));
      expect(await history.recall({ ...query, since: NOW })).toEqual([failure()]);
    });

    it('keeps failures that still count when newer ones are recorded', async () => {
      await history.record(failure({ failedAt: NOW - CAPACITY_FAILURE_AGE_MS_MAX }));
      await history.record(failure());
      expect(await history.recall(query)).toHaveLength(2);
    });

    it('recalls a limited number, the newest', async () => {
      const times = Array.from({ length: FAILURES_READ_MAX + 20 }, (_, index) => NOW + index);
      await Promise.all(times.map((failedAt) => history.record(failure({ failedAt }))));
      const recalled = (await history.recall(query)).map(({ failedAt }) => failedAt);
      expect(recalled.length).toBeLessThanOrEqual(FAILURES_READ_MAX);
      expect(recalled.length).toBeGreaterThanOrEqual(100);
      expect([...recalled].sort()).toEqual(times.slice(-recalled.length));
    });
  });
}
