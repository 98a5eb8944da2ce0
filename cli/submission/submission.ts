import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Invocation } from '#cli/command.ts';
import { describeError, Failure, UsageFailure } from '#cli/failure.ts';
import { formatGsUri, type GsUri, isGsUri, parseGsUri } from '#cli/objects/gs-uri.ts';
import type { ObjectClient } from '#cli/objects/object-client.ts';
import type { JobResource } from '#cli/submission/job-resource.ts';
import { buildSourceDistribution } from '#cli/submission/source-distribution.ts';
import { REPORT_SUFFIX, type Report, reportSchema } from '#shared/protocol/report.ts';

/** How long the verdict on a submission is waited for. */
const VERDICT_MS_MAX = 30_000;
const VERDICT_POLL_MS = 200;

type LocalPackage = { readonly fileName: string; readonly bytes: Uint8Array };

type Staging = { readonly invocation: Invocation; readonly jobId: string; readonly jobsBucket: string };

/** Builds and uploads what --package-path and --packages name; the addresses in the order of installation. */
export async function uploadPackages(
  client: ObjectClient,
  staging: Staging,
): Promise<{ packageUris: readonly string[] }> {
  const { invocation, jobId, jobsBucket } = staging;
  const { flag, io } = invocation;
  const named = (flag('packages') ?? '').split(',').filter((path) => path !== '');
  const packagePath = flag('package-path');
  const built = packagePath === undefined ? [] : [await build(resolve(io.cwd, packagePath), invocation)];
  const read = await Promise.all(
    named.filter((path) => !isGsUri(path)).map((path) => readPackage(resolve(io.cwd, path))),
  );
  const local = [...built, ...read];
  refuseEqualNames(local);
  const bucket = readStagingBucket(flag('staging-bucket')) ?? jobsBucket;
  const uploaded: string[] = [];
  for (const { fileName, bytes } of local) {
    const digest = createHash('sha256').update(bytes).digest('hex');
    const object = { bucket, name: `${jobId}/packages/${digest}/${fileName}` };
    await client.write(object, bytes);
    uploaded.push(formatGsUri(object));
  }
  return { packageUris: [...uploaded, ...named.filter(isGsUri)] };
}

/**
 * Uploading is submitting. A job id is unique for ever, but what was refused is no job yet: it may be mended and
 * submitted again under its name.
 */
export async function uploadJobFile(
  client: ObjectClient,
  { bucket, jobId, resource }: { readonly bucket: string; readonly jobId: string; readonly resource: JobResource },
): Promise<GsUri> {
  const object = jobFileOf(bucket, jobId);
  const body = Buffer.from(`${JSON.stringify(resource, null, 2)}\n`);
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
          `Look later: \`npx dropforge cat ${formatGsUri(reportOf(source))}\`; \`npx dropforge status\` may tell why.`,
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
  return { bucket, name: `${jobId}/job.json` };
}

function reportOf(source: GsUri): GsUri {
  return { ...source, name: `${source.name}${REPORT_SUFFIX}` };
}

/** Undefined when there is none, not yet or no more. */
export async function readReport(client: ObjectClient, report: GsUri): Promise<Report | undefined> {
  const text = await client.readText(report);
  return text === undefined ? undefined : reportSchema.parse(JSON.parse(text));
}

async function build(path: string, { io }: Invocation): Promise<LocalPackage> {
  const { notes, ...distribution } = await buildSourceDistribution(path);
  for (const note of notes) {
    io.stderr.write(`${note}\n`);
  }
  return distribution;
}

async function readPackage(path: string): Promise<LocalPackage> {
  try {
    return { fileName: basename(path), bytes: await readFile(path) };
  } catch (error) {
    throw new Failure(`The package ${path} cannot be read (${describeError(error)}): check --packages.`);
  }
}

function refuseEqualNames(packages: readonly LocalPackage[]): void {
  const names = packages.map(({ fileName }) => fileName);
  const double = names.find((name, index) => names.indexOf(name) !== index);
  if (double !== undefined) {
    throw new UsageFailure(`Two packages are named ${double}: rename one of them.`);
  }
}

function readStagingBucket(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseGsUri(isGsUri(text) ? text : `gs://${text}`).bucket;
}
