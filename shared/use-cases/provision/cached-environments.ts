import type { VmConfig } from '#shared/protocol/vm-config.ts';

/** Names the format, so that a change of the format starts with an empty cache. */
const PREFIX = 'environments-2';

/** Less than the age at which the bucket deletes objects. */
const AGE_SECONDS_MAX = 7 * 86_400;

/** More than any framework with its CUDA libraries. */
const ENTRY_BYTES_MAX = 16 * 2 ** 30;

/** Where VMs of a deployment keep the third-party packages that they have installed, for later starts. */
export function cachedEnvironmentsIn(
  bucket: string,
  entryBytesMax = ENTRY_BYTES_MAX,
): NonNullable<VmConfig['cachedEnvironments']> {
  return { uri: `gs://${bucket}/${PREFIX}`, ageSecondsMax: AGE_SECONDS_MAX, entryBytesMax };
}
