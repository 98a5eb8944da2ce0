import type { ObjectStore } from '#shared/ports/object-store.ts';

/** An object store without a bucket, for tests that read no objects. */
export const noObjects: ObjectStore = {
  stat: async () => undefined,
  read: async () => undefined,
  write: async () => 'NO_BUCKET',
  list: async ({ bucket }) => {
    throw new Error(`The bucket ${bucket} does not exist.`);
  },
  hasBucket: async () => false,
  locateBucket: async () => 'MISSING',
};
