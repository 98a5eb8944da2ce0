import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatGsUri, type GsUri, isGsUri, parseGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { REPORT_SUFFIX, type Report, reportSchema } from '#shared/protocol/report.ts';

/** How long the verdict on a submission is waited for. */
const VERDICT_MS_MAX = 30_000;
const VERDICT_POLL_MS = 200;

/**
 * Uploading is submitting. A job id is unique for ever, but what was refused is no job yet: it may be mended and
 * submitted again under its name.
 */
export async function uploadJobFile(
  client: ObjectClient,
  { bucket, jobId, text }: { readonly bucket: string; readonly jobId: string; readonly text: string },
): Promise<GsUri> {
  const object = jobFileOf(bucket, jobId);
  const body = Buffer.from(text);
  if ((await client.write(object, body, { isNew: true })) === 'written') {
    return object;
  }
  if ((await readReport(client, reportOf(object)))?.verdict !== 'REFUSED') {
    throw new Failure(`Job ${jobId} was submitted before (${formatGsUri(object)}): choose another job id.`);
  }
  // The old verdict goes first, or it would be taken for the new one.
  await client.delete(reportOf(object));
  await client.write(object, body);
  return object;
}

/** Whether a job was submitted under a name before, and not refused. */
export async function isTaken(
  client: ObjectClient,
  { bucket, jobId }: { readonly bucket: string; readonly jobId: string },
): Promise<boolean> {
  const object = jobFileOf(bucket, jobId);
  const found = await client.find(object, { isDeep: false });
  return found.length > 0 && (await readReport(client, reportOf(object)))?.verdict !== 'REFUSED';
}

/** The verdict on an upload, from the report that is written beside it. */
export async function waitForVerdict(client: ObjectClient, source: GsUri, signal: AbortSignal): Promise<Report> {
  const lastMs = Date.now() + VERDICT_MS_MAX;
  for (;;) {
    const report = await readReport(client, reportOf(source));
    const isLate = Date.now() >= lastMs;
    if (report !== undefined && (report.verdict !== 'WAITING' || isLate)) {
      return report;
    }
    if (isLate) {
      throw new Failure(
        `${formatGsUri(source)} was uploaded, but there is no verdict after ${VERDICT_MS_MAX / 1_000} s. ` +
          `Look later: \`${programName()} cat ${formatGsUri(reportOf(source))}\`; \`${programName()} status\` may tell why.`,
      );
    }
    await sleep(VERDICT_POLL_MS, undefined, { signal });
  }
}

/** The verdict on what was submitted under a name, which may be no job; undefined where nothing was. */
export function readVerdict(client: ObjectClient, uploadBucket: string, jobId: string): Promise<Report | undefined> {
  return readReport(client, reportOf(jobFileOf(uploadBucket, jobId)));
}

function jobFileOf(bucket: string, jobId: string): GsUri {
  return { bucket, name: `${jobId}/job.yaml` };
}

function reportOf(source: GsUri): GsUri {
  return { ...source, name: `${source.name}${REPORT_SUFFIX}` };
}

/** Undefined when there is none, not yet or no more. */
export async function readReport(client: ObjectClient, report: GsUri): Promise<Report | undefined> {
  const text = await client.readText(report);
  return text === undefined ? undefined : reportSchema.parse(JSON.parse(text));
}

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
