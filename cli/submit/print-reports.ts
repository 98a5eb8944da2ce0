import { setTimeout as sleep } from 'node:timers/promises';
import type { Copy } from '#cli/client/copy-objects.ts';
import { isGsUri, readGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import type { Invocation } from '#cli/core/command.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { readReport, reportOf } from '#cli/submit/upload-job.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { REPORT_SUFFIX, type Report } from '#shared/protocol/report.ts';
import { isAlwaysReported } from '#shared/use-cases/intake/upload-names.ts';

/** Time to wait for the reports on all uploads of a command. */
const REPORTS_TIMEOUT_MS = 30_000;
const REPORT_POLL_MS = 200;

type Uploads = { readonly client: ObjectClient; readonly uploadBucket: string; readonly copies: readonly Copy[] };

/**
 * Prints what intake reports on copies to the upload bucket, with the address of each report. A report that takes more
 * than REPORTS_TIMEOUT_MS, or is interrupted, is not waited for, and its address is printed alone.
 */
export async function printReports(invocation: Invocation, { client, uploadBucket, copies }: Uploads): Promise<void> {
  const { io, print } = invocation;
  const signal = AbortSignal.any([io.interrupted, AbortSignal.timeout(REPORTS_TIMEOUT_MS)]);
  for (const { to } of copies) {
    const { bucket, name } = isGsUri(to) ? readGsUri(to) : { bucket: '', name: '' };
    if (bucket === uploadBucket && isAlwaysReported(name) && !name.endsWith(REPORT_SUFFIX)) {
      const report = await awaitReport(client, { bucket, name }, signal);
      const uri = `${to}${REPORT_SUFFIX}`;
      const text = report === undefined ? `${to} has no report yet.` : describeReport(report, io.stdout);
      print({ json: { report: uri, ...report }, text: `${text}\n  report   ${uri}` });
    }
  }
}

/** Returns the report on the upload as it is now, or on a newer one; undefined if there is none in time. */
async function awaitReport(client: ObjectClient, object: ObjectName, signal: AbortSignal): Promise<Report | undefined> {
  const [upload] = await client.find(object, { isRecursive: false });
  const isOnUpload = (report: Report | undefined) =>
    report !== undefined && BigInt(report.generation ?? 0) >= BigInt(upload?.generation ?? 0);
  for (;;) {
    const report = await readReport(client, reportOf(object));
    if (isOnUpload(report) || signal.aborted) {
      return isOnUpload(report) ? report : undefined;
    }
    await sleep(REPORT_POLL_MS, undefined, { signal }).catch(() => {});
  }
}
