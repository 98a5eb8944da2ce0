import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Io } from '#cli/command.ts';
import { describeError, Failure, UsageFailure } from '#cli/failure.ts';
import { formatGsUri, isGsUri, parseGsUri } from '#cli/objects/gs-uri.ts';
import type { ObjectClient } from '#cli/objects/object-client.ts';
import type { PackageSource } from '#cli/submission/package-source.ts';
import { buildSourceDistribution } from '#cli/submission/source-distribution.ts';
import { buildWorkingDirectory } from '#cli/submission/working-directory.ts';

type LocalPackage = { readonly source: PackageSource; readonly fileName: string; readonly bytes: Uint8Array };

type Staging = {
  readonly sources: readonly PackageSource[];
  readonly jobId: string;
  readonly bucket: string;
  readonly stderr: Io['stderr'];
};

/** Builds and uploads what is on this machine; the answer gives the address of each. */
export async function uploadPackages(
  client: ObjectClient,
  { sources, jobId, bucket, stderr }: Staging,
): Promise<(source: PackageSource) => string> {
  const local: LocalPackage[] = [];
  for (const source of sources) {
    local.push(...(await readLocal(source, stderr)));
  }
  refuseEqualNames(local);
  const addresses = new Map<PackageSource, string>();
  for (const { source, fileName, bytes } of local) {
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

async function readLocal(source: PackageSource, stderr: Io['stderr']): Promise<readonly LocalPackage[]> {
  if (source.kind === 'OBJECT') {
    return [];
  }
  if (source.kind === 'ARCHIVE') {
    return [{ source, fileName: basename(source.path), bytes: await readArchive(source.path, source.flag) }];
  }
  const { fileName, bytes, notes } = await (source.kind === 'FOLDER'
    ? buildSourceDistribution(source.path)
    : buildWorkingDirectory(source));
  for (const note of notes) {
    stderr.write(`${note}\n`);
  }
  return [{ source, fileName, bytes }];
}

async function readArchive(path: string, flag: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure(`The package ${path} cannot be read (${describeError(error)}): check ${flag}.`);
  }
}

function refuseEqualNames(packages: readonly LocalPackage[]): void {
  const names = packages.map(({ fileName }) => fileName);
  const double = names.find((name, index) => names.indexOf(name) !== index);
  if (double !== undefined) {
    throw new UsageFailure(`Two packages are named ${double}: rename one of them.`);
  }
}
