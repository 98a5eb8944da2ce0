import { createHash } from 'node:crypto';
import { formatGsUri, isGsUri, parseGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';

type Staging = {
  readonly built: readonly BuiltPackage[];
  readonly jobId: string;
  readonly bucket: string;
};

/** Uploads what was built; the answer gives the address of each source. */
export async function uploadPackages(
  client: ObjectClient,
  { built, jobId, bucket }: Staging,
): Promise<(source: PackageSource) => string> {
  const addresses = new Map<PackageSource, string>();
  for (const { source, fileName, bytes } of built) {
    const digest = createHash('sha256').update(bytes).digest('hex');
    const object = { bucket, name: `${jobId}/packages/${digest}/${fileName}` };
    await client.write(object, bytes);
    addresses.set(source, formatGsUri(object));
  }
  return (source) => (source.kind === 'OBJECT' ? source.uri : (addresses.get(source) ?? ''));
}

/** `gs://bucket`, `gs://bucket/` or its name alone. */
export function readStagingBucket(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseGsUri(isGsUri(text) ? text : `gs://${text}`).bucket;
}
