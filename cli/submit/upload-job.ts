import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGsUri, readGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX, type Report, reportSchema } from '#shared/protocol/report.ts';

/** Time to wait for the verdict on a submission. */
const VERDICT_TIMEOUT_MS = 30_000;
const VERDICT_POLL_MS = 200;

/**
 * Submits a job by uploading its job file. Job ids are never reused, except that a submission that was rejected, or
 * that waits for packages, did not create a job and can be submitted again with the same id. Throws Failure if the id
 * is taken.
 */
export async function uploadJobFile(
  client: ObjectClient,
  { bucket, jobId, text }: { readonly bucket: string; readonly jobId: string; readonly text: string },
): Promise<ObjectName> {
  const object = jobFileOf(bucket, jobId);
  const body = Buffer.from(text);
  if ((await client.write(object, body, { isNew: true })) === 'written') {
    return object;
  }
  const earlier = await readReport(client, reportOf(object));
  if (earlier === undefined || earlier.verdict === 'ACCEPTED') {
    throw new Failure(`Job ${jobId} already exists (${toGsUri(object)}): choose another job id.`);
  }
  // Deleted first, so that it cannot be mistaken for the verdict on the new upload.
  await client.delete(reportOf(object));
  await client.write(object, body);
  return object;
}

/** Whether a job with this id was submitted before and not rejected. */
export async function isJobIdTaken(
  client: ObjectClient,
  { bucket, jobId }: { readonly bucket: string; readonly jobId: string },
): Promise<boolean> {
  const object = jobFileOf(bucket, jobId);
  const found = await client.find(object, { isRecursive: false });
  return found.length > 0 && (await readReport(client, reportOf(object)))?.verdict !== 'REFUSED';
}

/** Waits for the verdict on an upload: the report that intake writes next to it. Throws Failure on timeout. */
export async function waitForVerdict(client: ObjectClient, source: ObjectName, signal: AbortSignal): Promise<Report> {
  const deadlineMs = Date.now() + VERDICT_TIMEOUT_MS;
  for (;;) {
    const report = await readReport(client, reportOf(source));
    const isTimedOut = Date.now() >= deadlineMs;
    if (report !== undefined && (report.verdict !== 'WAITING' || isTimedOut)) {
      return report;
    }
    if (isTimedOut) {
      throw new Failure(
        `${toGsUri(source)} was submitted, but there is no verdict after ${VERDICT_TIMEOUT_MS / 1_000} s. ` +
          `Check again later with \`${programName()} cat ${toGsUri(reportOf(source))}\`, or check the cloud with \`${programName()} status\`.`,
      );
    }
    await sleep(VERDICT_POLL_MS, undefined, { signal });
  }
}

/** Returns the verdict on the submission with this id, even if it was rejected; undefined if there is none. */
export function readVerdict(client: ObjectClient, uploadBucket: string, jobId: string): Promise<Report | undefined> {
  return readReport(client, reportOf(jobFileOf(uploadBucket, jobId)));
}

function jobFileOf(bucket: string, jobId: string): ObjectName {
  return { bucket, name: `${jobId}/job.yaml` };
}

/** The report that intake writes beside an upload has this name. */
export function reportOf(source: ObjectName): ObjectName {
  return { ...source, name: `${source.name}${REPORT_SUFFIX}` };
}

/** Reads a report; undefined if it does not exist (yet, or anymore). */
export async function readReport(client: ObjectClient, report: ObjectName): Promise<Report | undefined> {
  const text = await client.readText(report);
  return text === undefined ? undefined : reportSchema.parse(JSON.parse(text));
}

type Staging = {
  readonly built: readonly BuiltPackage[];
  readonly jobId: string;
  readonly bucket: string;
};

/** Uploads the built packages and returns a function that maps each source to its URI. */
export async function uploadPackages(
  client: ObjectClient,
  { built, jobId, bucket }: Staging,
): Promise<(source: PackageSource) => string> {
  const uris = new Map<PackageSource, string>();
  for (const { source, fileName, bytes } of built) {
    const digest = createHash('sha256').update(bytes).digest('hex');
    const object = { bucket, name: `${jobId}/packages/${digest}/${fileName}` };
    await client.write(object, bytes);
    uris.set(source, toGsUri(object));
  }
  return (source) => (source.kind === 'OBJECT' ? source.uri : (uris.get(source) ?? ''));
}

/** Parses `gs://bucket`, `gs://bucket/` or a bucket name. */
export function readStagingBucket(text: string | undefined): string | undefined {
  return text === undefined ? undefined : readGsUri(isGsUri(text) ? text : `gs://${text}`).bucket;
}
