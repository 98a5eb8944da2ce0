import { deepStrictEqual } from 'node:assert/strict';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { printJobFile } from '#shared/job-file/print-job-file.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

const CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '2.11', jobDirBase: 'gs://jobs', packageUris: ['gs://up/a.zip'] },
  packageBase: 'gs://up',
  uploadBucket: 'up',
};

export type Outcome = 'no job' | 'rejected' | 'accepted';

/**
 * Properties of every file: reading and validating it never throws, every rejection has a finding, and an accepted
 * job prints to a file that reads and validates the same. Throws an error if one does not hold.
 */
export function checkFile(source: string | Uint8Array): Outcome {
  const { draft, problems } = readJobFile(source, { fileName: 'job.yaml' });
  if (draft === null) {
    if (problems.length === 0) {
      throw new Error('There is no job and no problem.');
    }
    return 'no job';
  }
  const check = checkJob(draft, CONTEXT);
  if (check.spec === null && check.problems.length === 0) {
    throw new Error('The job is rejected without a problem.');
  }
  if (draft.problems.length > 0) {
    return 'rejected';
  }
  const again = readJobFile(printJobFile(draft), { fileName: 'job.yaml' });
  deepStrictEqual(withoutLocations(again.draft), withoutLocations(draft));
  if (again.draft !== null) {
    deepStrictEqual(checkJob(again.draft, CONTEXT).spec, check.spec);
  }
  return check.spec === null ? 'rejected' : 'accepted';
}

const LOCATION_KEYS = ['path', 'line', 'problems', 'warnings', 'unsupported'];

/** A draft's values without their locations. */
export function withoutLocations(draft: JobDraft | null): unknown {
  return JSON.parse(JSON.stringify(draft, (key, value: unknown) => (LOCATION_KEYS.includes(key) ? undefined : value)));
}
