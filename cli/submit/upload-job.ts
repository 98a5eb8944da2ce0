import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGsUri, readGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { suggestFreeJobId } from '#shared/domain/free-job-id.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX, type Report, reportSchema } from '#shared/protocol/report.ts';

/** Times since a submission, and the interval at which its verdict is read. */
export const VERDICT_WAIT = {
  pollMs: 200,
  /** When the reason for the delay is printed. */
  noticeMs: 5_000,
  /** For packages that the job still waits for. */
  waitingMs: 30_000,
  /** The functions that inspect packages have 300 s (terraform/functions.tf). */
  timeoutMs: 300_000,
};

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
    const free = await suggestFreeJobId(jobId, (id) => isJobIdTaken(client, { bucket, jobId: id }));
    throw new Failure(`Job ${jobId} already exists (${toGsUri(object)}): choose another job id${free}.`);
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

type VerdictOptions = {
  readonly signal: AbortSignal;
  /** Receives a sentence for the user if the verdict takes longer than usual. */
  readonly onSlow?: (notice: string) => void;
  readonly wait?: typeof VERDICT_WAIT;
};

/** Waits for the verdict on an upload: the report that intake writes next to it. Throws Failure on timeout. */
export async function waitForVerdict(
  client: ObjectClient,
  source: ObjectName,
  { signal, onSlow, wait = VERDICT_WAIT }: VerdictOptions,
): Promise<Report> {
  const startedAtMs = Date.now();
  let isSlow = false;
  for (;;) {
    const report = await readReport(client, reportOf(source));
    const waitedMs = Date.now() - startedAtMs;
    if (report !== undefined && (report.verdict !== 'WAITING' || waitedMs >= wait.waitingMs)) {
      return report;
    }
    if (waitedMs >= wait.timeoutMs) {
      throw new Failure(
        `${toGsUri(source)} was submitted, but there is no verdict after ${wait.timeoutMs / 1_000} s. ` +
          `Check again later with \`${programName()} cat ${toGsUri(reportOf(source))}\`, or check the cloud with \`${programName()} status\`.`,
      );
    }
    if (!isSlow && waitedMs >= wait.noticeMs) {
      isSlow = true;
      onSlow?.(
        `${toGsUri(source)} was submitted; its packages are being inspected, which can take ${wait.timeoutMs / 60_000} minutes. Ctrl-C ends the waiting, not the job.`,
      );
    }
    await sleep(wait.pollMs, undefined, { signal });
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
  if (text === undefined) {
    return undefined;
  }
  const { bucket, name } = readGsUri(isGsUri(text) ? text : `gs://${text}`);
  if (name !== '') {
    throw new UsageFailure(`--staging-bucket takes a bucket without a folder: write gs://${bucket}.`);
  }
  return bucket;
}
