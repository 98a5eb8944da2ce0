import { Readable } from 'node:stream';
import type { ObjectInfo, ObjectName, ObjectStore } from '#shared/ports/object-store.ts';
import { UPLOAD_PART_BYTES_MAX } from '#shared/protocol/submission.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

/**
 * The folder of the jobs bucket for uploads that have not been started. No job has it, since job ids begin with a
 * letter, and no upload to this bucket is a submission. Its objects are deleted after two days
 * (terraform/modules/storage).
 */
export const STAGING_FOLDER = '_uploads/';

export type StagingPorts = {
  readonly objects: ObjectStore;
  readonly intake: Pick<IntakeSettings, 'jobsBucket'>;
};

export type StagedPart = { readonly uploadId: string; readonly part: number; readonly body: Uint8Array };

/** Stores one part of an upload. Repeating it keeps the part: another file is another upload. */
export async function stagePart(ports: StagingPorts, { uploadId, part, body }: StagedPart): Promise<void> {
  if (body.byteLength > UPLOAD_PART_BYTES_MAX) {
    throw new RangeError(`A part has ${body.byteLength} bytes; the limit is ${UPLOAD_PART_BYTES_MAX}.`);
  }
  await writeOnce(ports, partOf(ports, uploadId, part), body);
}

export type StagedPackage = { readonly uploadId: string; readonly fileName: string; readonly partCount: number };

/**
 * The package of an upload, put together from its parts; undefined if one of them is missing. A package that exists
 * already is not written again.
 */
export async function assemblePackage(
  ports: StagingPorts,
  { uploadId, fileName, partCount }: StagedPackage,
): Promise<ObjectInfo | undefined> {
  const parts: ObjectInfo[] = [];
  for (let part = 1; part <= partCount; part += 1) {
    const info = await ports.objects.stat(partOf(ports, uploadId, part));
    if (info === undefined) {
      return undefined;
    }
    parts.push(info);
  }
  const target = { bucket: ports.intake.jobsBucket, name: `${STAGING_FOLDER}${uploadId}/${fileName}` };
  return writeOnce(ports, target, () => Readable.from(readParts(ports.objects, parts), { objectMode: false }));
}

/** Where a package is kept: in the folder of its job, in a bucket that the job's VMs can read. */
export function keptPackageOf(
  { uploadId, fileName }: Pick<StagedPackage, 'uploadId' | 'fileName'>,
  { jobId, bucket }: { readonly jobId: string; readonly bucket: string },
): ObjectName {
  return { bucket, name: `${jobId}/packages/${uploadId}/${fileName}` };
}

/** Copies a package. Repeating it finds the copy. */
export async function keepPackage(ports: StagingPorts, info: ObjectInfo, target: ObjectName): Promise<ObjectInfo> {
  return writeOnce(ports, target, () => Readable.from(readParts(ports.objects, [info]), { objectMode: false }));
}

/** Looks first: this account may create objects but not replace them, which Cloud Storage may check first. */
async function writeOnce(
  { objects }: StagingPorts,
  target: ObjectName,
  body: Parameters<ObjectStore['write']>[1],
): Promise<ObjectInfo> {
  const existing = await objects.stat(target);
  if (existing !== undefined) {
    return existing;
  }
  const written = await objects.write(target, body, { ifGeneration: '0' });
  const info = written === 'CONFLICT' ? await objects.stat(target) : written;
  if (info === undefined || info === 'NO_BUCKET') {
    throw new Error(`gs://${target.bucket}/${target.name} could not be written. The request can be repeated.`);
  }
  return info;
}

async function* readParts(objects: ObjectStore, parts: readonly ObjectInfo[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    const bytes = await objects.read(part, { generation: part.generation });
    if (bytes === undefined) {
      throw new Error(`gs://${part.bucket}/${part.name} was replaced while it was read. The request can be repeated.`);
    }
    yield* bytes;
  }
}

function partOf({ intake }: StagingPorts, uploadId: string, part: number): ObjectName {
  return { bucket: intake.jobsBucket, name: `${STAGING_FOLDER}${uploadId}/part-${String(part).padStart(2, '0')}` };
}
