import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CAPACITY_FAILURE_AGE_MS_MAX, type CapacityFailure } from '#shared/domain/capacity.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';

/** A bound on what one recall may cost, whatever has happened before. */
const REFUSALS_RECALLED_MAX = 500;

const NOW = 1_000_000_000;
const query = { machineKey: 'n1-standard-4+1xNVIDIA_TESLA_T4', provisioningModel: 'STANDARD', since: 0 } as const;

function failure(facts: Partial<CapacityFailure> = {}): CapacityFailure {
  const { machineKey, provisioningModel } = query;
  return { zone: 'us-central1-a', machineKey, provisioningModel, failedAt: NOW, ...facts };
}

/** What every memory for full zones promises, whatever is behind it. */
export function describeCapacityHistoryContract(name: string, open: OpenStore<CapacityHistory>): void {
  describe(`${name} as a capacity memory`, () => {
    let opened: StoreUnderTest<CapacityHistory>;
    let memory: CapacityHistory;

    beforeEach(async () => {
      opened = await open();
      memory = opened.store;
    });
    afterEach(() => opened.close());

    it('has nothing against any zone at first', async () => {
      expect(await memory.recall(query)).toEqual([]);
    });

    it('recalls a failure to every other job that wants the same machine', async () => {
      await memory.record(failure());
      expect(await memory.recall(query)).toEqual([failure()]);
      expect(await (await opened.connect()).recall(query)).toEqual([failure()]);
    });

    it('keeps machines and provisioning models apart', async () => {
      await memory.record(failure({ machineKey: 'n1-standard-8' }));
      await memory.record(failure({ provisioningModel: 'SPOT' }));
      expect(await memory.recall(query)).toEqual([]);
      expect(await memory.recall({ ...query, provisioningModel: 'SPOT' })).toHaveLength(1);
    });

    it('recalls every failure of a zone, for each one counts', async () => {
      const failures = [failure(), failure({ failedAt: NOW + 1 }), failure({ zone: 'us-central1-b' })];
      await Promise.all(failures.map((each) => memory.record(each)));
      const recalled = await memory.recall(query);
      expect(recalled).toHaveLength(3);
      expect(recalled).toEqual(expect.arrayContaining(failures));
    });

    it('recalls nothing from before the given time', async () => {
      await memory.record(failure({ failedAt: NOW - 1 }));
      await memory.record(failure({ failedAt: NOW }));
      expect(await memory.recall({ ...query, since: NOW })).toEqual([failure()]);
    });

    it('keeps what still counts when newer failures come', async () => {
      await memory.record(failure({ failedAt: NOW - CAPACITY_FAILURE_AGE_MS_MAX }));
      await memory.record(failure());
      expect(await memory.recall(query)).toHaveLength(2);
    });

    it('recalls a bounded number, and of those the newest', async () => {
      const times = Array.from({ length: REFUSALS_RECALLED_MAX + 20 }, (_, index) => NOW + index);
      await Promise.all(times.map((failedAt) => memory.record(failure({ failedAt }))));
      const recalled = (await memory.recall(query)).map(({ failedAt }) => failedAt);
      expect(recalled.length).toBeLessThanOrEqual(REFUSALS_RECALLED_MAX);
      expect(recalled.length).toBeGreaterThanOrEqual(100);
      expect([...recalled].sort()).toEqual(times.slice(-recalled.length));
    });
  });
}
