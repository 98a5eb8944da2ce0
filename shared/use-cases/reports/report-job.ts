import type { JobSource, TimestampMs } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { readSubmitted, type Submitted } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { updateReport } from '#shared/use-cases/reports/update-report.ts';

export type ReportPorts = {
  readonly jobs: JobStore;
  readonly tunings: TuningStore;
  readonly objects: ObjectStore;
  /** A job or tuning as users see it. */
  readonly view: (submitted: Submitted, now: TimestampMs) => Promise<JobView>;
};

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
    const job = await ports.view(current, now);
    return { verdict: 'ACCEPTED', source: source.uri, jobId, problems: [], warnings: [...current.warnings], job };
  });
}

/** The generation of the job's upload; undefined for a message. */
function generationOf({ uri, deliveryId, reportUri }: JobSource): string | undefined {
  return reportUri === `${uri}${REPORT_SUFFIX}` ? deliveryId : undefined;
}
