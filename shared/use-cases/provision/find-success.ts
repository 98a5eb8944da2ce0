import { classOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import { AccessDeniedError, type ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';

/**
 * The manifest of a job directory, with what the agent records in its metadata (vm_agent/storage/transfer/client.py).
 */
const MANIFEST_NAME = 'dropforge-manifest.json';
const KEYS = { job: 'dropforge-job', attempt: 'dropforge-attempt', succeeded: 'dropforge-succeeded' } as const;

/**
 * Whether an attempt that was interrupted has recorded in the job directory that its program succeeded, with all of its
 * outputs. After the failure of another replica, the success of the master does not count. A later attempt removes the
 * record when it claims the directory, so it is that of the last attempt that ran. A directory that cannot be read has
 * no record.
 */
export async function findSuccess(
  objects: Pick<ObjectStore, 'stat'>,
  { jobId, attempt, spec, ledger }: Pick<Job, 'jobId' | 'attempt' | 'spec' | 'ledger'>,
): Promise<boolean> {
  const last = ledger.at(-1)?.cause ?? null;
  if (last === null || classOf(last) !== 'interruption') {
    return false;
  }
  const { bucket, name } = parseGsUri(spec.jobDir);
  const folder = name.replace(/\/+$/, '');
  const manifest = { bucket, name: folder === '' ? MANIFEST_NAME : `${folder}/${MANIFEST_NAME}` };
  const found = await objects.stat(manifest).catch((error: unknown) => {
    if (error instanceof AccessDeniedError) {
      return undefined;
    }
    throw error;
  });
  const recorded = found?.metadata ?? {};
  return (
    recorded[KEYS.succeeded] === 'true' && recorded[KEYS.job] === jobId && Number(recorded[KEYS.attempt]) < attempt
  );
}
