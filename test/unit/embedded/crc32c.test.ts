import { crc32c as nativeCrc32c } from '@node-rs/crc32';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { crc32c } from '#infra/embedded/http/crc32c.ts';

it('is that of the native implementation, for bytes of any length and offset, and in parts', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(70), (bytes, end) => {
      const [first, second] = [bytes.subarray(0, end), bytes.subarray(end)];
      expect(crc32c(bytes)).toBe(nativeCrc32c(bytes));
      expect(crc32c(second, crc32c(first))).toBe(nativeCrc32c(bytes));
    }),
  );
});
