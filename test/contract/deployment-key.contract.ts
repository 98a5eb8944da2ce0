import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeploymentKey } from '#shared/ports/deployment-key.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';

/** The contract of every DeploymentKey. */
export function describeDeploymentKeyContract(name: string, open: OpenStore<DeploymentKey>): void {
  describe(`${name} as the key of a deployment`, () => {
    let opened: StoreUnderTest<DeploymentKey>;

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    it('creates a whole key with the first read, and returns the same one in every process', async () => {
      const key = await opened.store.read();
      expect(Buffer.from(key, 'base64')).toHaveLength(32);
      expect(await opened.store.read()).toBe(key);
      expect(await (await opened.connect()).read()).toBe(key);
    });

    it('is one key for processes that create it at once', async () => {
      const others = await Promise.all(Array.from({ length: 9 }, () => opened.connect()));
      const keys = await Promise.all([opened.store, ...others].map((store) => store.read()));
      expect(new Set(keys).size).toBe(1);
    });

    it('is another one in another deployment', async () => {
      const other = await open();
      try {
        expect(await other.store.read()).not.toBe(await opened.store.read());
      } finally {
        await other.close();
      }
    });
  });
}
