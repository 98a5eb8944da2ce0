import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CurveStore } from '#shared/ports/tuning-store.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import { exampleCurve } from '../support/domain/example-tuning.ts';

/** The contract of every CurveStore. */
export function describeCurveStoreContract(name: string, open: OpenStore<CurveStore>): void {
  describe(`${name} as a curve store`, () => {
    let opened: StoreUnderTest<CurveStore>;
    let store: CurveStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    it('reads a curve exactly as it was written, on another connection too', async () => {
      const curve = exampleCurve(3, [0.1, 0.2], {
        points: [{ step: 0.5, elapsedMs: 1.5, values: { accuracy: 'NaN', loss: -1e-300, b: 'Infinity' } }],
      });
      expect(await store.read('digits', 3)).toBeUndefined();
      expect(await store.write(curve, undefined)).toBe('WRITTEN');
      expect(await store.read('digits', 3)).toEqual(curve);
      expect(await (await opened.connect()).read('digits', 3)).toEqual(curve);
      expect(await store.read('digits', 4)).toBeUndefined();
      expect(await store.read('other', 3)).toBeUndefined();
    });

    it('replaces a curve of the same or an earlier attempt, and keeps one of a later attempt', async () => {
      const [first, second] = [exampleCurve(1, [0.1]), exampleCurve(1, [0.1, 0.2])];
      const later = exampleCurve(1, [0.3], { attempt: 3 });
      await store.write(first, undefined);
      expect(await store.write(second, first)).toBe('WRITTEN');
      expect(await store.write(later, second)).toBe('WRITTEN');
      expect(await store.write(exampleCurve(1, [0.1, 0.2, 0.3], { attempt: 2 }), second)).toBe('OUTDATED');
      expect(await store.read('digits', 1)).toEqual(later);
    });

    it('replaces no curve but the one that was read', async () => {
      const [first, second] = [exampleCurve(1, [0.1]), exampleCurve(1, [0.1, 0.2])];
      const third = exampleCurve(1, [0.1, 0.2, 0.3]);
      expect(await store.write(second, first)).toBe('CONFLICT');
      expect(await store.read('digits', 1)).toBeUndefined();
      await store.write(first, undefined);
      expect(await store.write(second, undefined)).toBe('CONFLICT');
      await store.write(third, first);
      expect(await store.write(second, first)).toBe('CONFLICT');
      expect(await store.read('digits', 1)).toEqual(third);
    });

    it('reads many curves of one tuning, without those that do not exist', async () => {
      const ordinals = Array.from({ length: 500 }, (_, index) => index + 1);
      for (const ordinal of [1, 2, 10, 500, 501]) {
        await store.write(exampleCurve(ordinal, [ordinal]), undefined);
        await store.write(exampleCurve(ordinal, [0], { tuningId: 'other' }), undefined);
      }
      const curves = await store.readMany('digits', ordinals);
      expect([...curves].sort((a, b) => a.ordinal - b.ordinal)).toEqual(
        [1, 2, 10, 500].map((ordinal) => exampleCurve(ordinal, [ordinal])),
      );
      expect(await store.readMany('digits', [])).toEqual([]);
    });
  });
}
