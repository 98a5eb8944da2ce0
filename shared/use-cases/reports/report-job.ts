import type { JobSource, TimestampMs } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { viewJob } from '#shared/use-cases/reports/job-view.ts';
import { updateReport } from '#shared/use-cases/reports/update-report.ts';

export type ReportPorts = { readonly jobs: JobStore; readonly replicas: ReplicaStore; readonly objects: ObjectStore };

/**
 * Writes the current state of a job to the report beside its upload, for users with nothing but `gcloud storage`. If
 * the upload was replaced since, the job has a report of its own.
 */
export async function reportJob(ports: ReportPorts, jobId: string, now: TimestampMs): Promise<void> {
  const source = (await ports.jobs.read(jobId))?.job.source;
  if (source === undefined) {
    return;
  }
  const reportObject = parseGsUri(source.reportUri);
  const subject = { reportObject, generation: generationOf(source), acceptedJobId: jobId };
  await updateReport(ports.objects, subject, async () => {
    const job = (await ports.jobs.read(jobId))?.job;
    if (job === undefined) {
      return null;
    }
    const view = viewJob(job, await ports.replicas.listByJob(jobId), now);
    return { verdict: 'ACCEPTED', source: source.uri, jobId, problems: [], warnings: [...job.warnings], job: view };
  });
}

/** The generation of the job's upload; undefined for a message. */
function generationOf({ uri, deliveryId, reportUri }: JobSource): string | undefined {
  return reportUri === `${uri}${REPORT_SUFFIX}` ? deliveryId : undefined;
}
