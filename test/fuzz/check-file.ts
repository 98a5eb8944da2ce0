import { decodeJobFile } from '#shared/job-file/parser/parse-source.ts';
import { renamePackages } from '#shared/job-file/parser/rename-packages.ts';
import { toSingleTraining } from '#shared/job-file/parser/single-training.ts';
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
 * Properties of every file: reading and validating it never throws, every rejection has a finding, and a file that can
 * be read can become that of a clone. Throws an error if one does not hold.
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
  const text = decodeJobFile(source) ?? '';
  if (renamePackages(text, () => undefined) !== text) {
    throw new Error('The text changes, although no package has another name.');
  }
  if (readJobFile(toSingleTraining(text), { fileName: 'job.yaml' }).draft?.study !== undefined) {
    throw new Error('A single training has a study.');
  }
  return check.spec === null ? 'rejected' : 'accepted';
}
