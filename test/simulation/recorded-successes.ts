import assert from 'node:assert/strict';
import { classOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import type { ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';

type Vm = { readonly jobId: string; readonly attempt: number; readonly role: string };

/** The manifests of the job directories: who owns them, and whether that attempt's program has succeeded. */
export function createRecordedSuccesses(now: () => number) {
  /** By path of the job directory. */
  const jobIds = new Map<string, string>();
  const owners = new Map<string, number>();
  const successes = new Map<string, { readonly attempt: number; readonly at: number }>();
  /** When each attempt became that of its job. */
  const begunAt = new Map<string, number>();
  const objects: Pick<ObjectStore, 'stat'> = {
    async stat({ name }) {
      const jobId = jobIds.get(name.replace(/\/[^/]*$/, '')) ?? '';
      const attempt = owners.get(jobId);
      const succeeded = successes.has(jobId) ? 'true' : 'false';
      const metadata = { 'dropforge-job': jobId, 'dropforge-attempt': `${attempt}`, 'dropforge-succeeded': succeeded };
      return attempt === undefined ? undefined : ({ metadata } as unknown as ObjectInfo);
    },
  };
  return {
    objects,
    /** The agent of a master claims the directory, which fences off earlier attempts. */
    onClaimed({ jobId, attempt, role }: Vm): void {
      if (role === 'master' && attempt > (owners.get(jobId) ?? 0)) {
        owners.set(jobId, attempt);
        successes.delete(jobId);
      }
    },
    /** The program of a master has succeeded, and its outputs are saved. */
    onSaved({ jobId, attempt, role }: Vm): void {
      if (role === 'master' && attempt === owners.get(jobId) && !successes.has(jobId)) {
        successes.set(jobId, { attempt, at: now() });
      }
    },
    /** The attempt that has recorded its success, if one has. */
    successOf: (jobId: string) => successes.get(jobId)?.attempt,
    /** No zone is chosen for a job that was interrupted, and had succeeded before. */
    onCommitted({ jobId, attempt, status, ledger, spec }: Job): void {
      jobIds.set(parseGsUri(spec.jobDir).name, jobId);
      const key = `${jobId}/${attempt}`;
      begunAt.set(key, begunAt.get(key) ?? now());
      const success = successes.get(jobId);
      const last = ledger.at(-1)?.cause ?? null;
      const wasInterrupted = last !== null && classOf(last) === 'interruption';
      assert(
        status !== 'PREPARING' || !wasInterrupted || success === undefined || success.at >= (begunAt.get(key) ?? 0),
        `${jobId} runs again in attempt ${attempt}, although attempt ${success?.attempt} had succeeded`,
      );
    },
  };
}
