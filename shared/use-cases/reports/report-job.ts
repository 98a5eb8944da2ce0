import type { JobSource, TimestampMs } from '#shared/domain/job.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { readSubmitted } from '#shared/ports/read-submitted.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { updateReport } from '#shared/use-cases/intake/update-report.ts';
import { type ViewPorts, viewSubmitted } from '#shared/views/view-submitted.ts';

export type ReportPorts = ViewPorts & { readonly objects: ObjectStore };

/**
 * Writes the current state of a job or a tuning to the report beside its upload, for users with nothing but `gcloud
 * storage`. If the upload was replaced since, the job has a report of its own. The job of a trial has no upload.
 */
export async function reportJob(ports: ReportPorts, jobId: string, now: TimestampMs): Promise<void> {
  const submitted = await readSubmitted(ports, jobId);
  if (submitted === undefined || ('trial' in submitted && submitted.trial !== null)) {
    return;
  }
  const { source } = submitted;
  const reportObject = parseGsUri(source.reportUri);
  const subject = { reportObject, generation: generationOf(source), acceptedJobId: jobId };
  await updateReport(ports.objects, subject, async () => {
    const current = await readSubmitted(ports, jobId);
    if (current === undefined) {
      return null;
    }
    const job = await viewSubmitted(ports, current, now);
    return { verdict: 'ACCEPTED', source: source.uri, jobId, problems: [], warnings: [...current.warnings], job };
  });
}

/** The generation of the job's upload; undefined for a message. */
function generationOf({ uri, deliveryId, reportUri }: JobSource): string | undefined {
  return reportUri === `${uri}${REPORT_SUFFIX}` ? deliveryId : undefined;
}
