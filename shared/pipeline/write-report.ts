import type { TimestampMs } from '#shared/domain/job.ts';
import { parseGsUri } from '#shared/pipeline/gs-uri.ts';
import { viewJob } from '#shared/pipeline/job-view.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ObjectName, ObjectStore } from '#shared/ports/object-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { Report } from '#shared/protocol/report.ts';

export type ReportPorts = { readonly jobs: JobStore; readonly replicas: ReplicaStore; readonly objects: ObjectStore };

const WRITE_TRIES_MAX = 5;

/**
 * Writes what has become of a job into the report object beside its upload, so that a user with nothing but `gcloud
 * storage` sees it. What is written is read at the last moment and guarded by the generation it replaces: of two writers
 * the one with older news tries again.
 */
export async function reportJob(ports: ReportPorts, jobId: string, now: TimestampMs): Promise<void> {
  for (let writeTry = 1; writeTry <= WRITE_TRIES_MAX; writeTry += 1) {
    const source = (await ports.jobs.read(jobId))?.job.source;
    if (source === undefined) {
      return;
    }
    const object = parseGsUri(source.reportUri);
    const generation = (await ports.objects.stat(object))?.generation ?? '0';
    const job = (await ports.jobs.read(jobId))?.job;
    if (job === undefined) {
      return;
    }
    const view = viewJob(job, await ports.replicas.listByJob(jobId), now);
    const warnings = [...job.warnings];
    const report: Report = { verdict: 'ACCEPTED', source: source.uri, jobId, problems: [], warnings, job: view };
    if ((await writeReport(ports.objects, object, { report, ifGeneration: generation })) !== 'CONFLICT') {
      return;
    }
  }
  throw new Error(`The report of job ${jobId} kept changing while it was written; it will be tried again.`);
}

export function writeReport(
  objects: ObjectStore,
  object: ObjectName,
  { report, ifGeneration }: { readonly report: Report; readonly ifGeneration?: string },
) {
  const body = Buffer.from(`${JSON.stringify(report, null, 2)}\n`);
  const options = { contentType: 'application/json', ...(ifGeneration === undefined ? {} : { ifGeneration }) };
  return objects.write(object, body, options);
}
