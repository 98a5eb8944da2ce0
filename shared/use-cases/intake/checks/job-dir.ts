import { fieldPath } from '#shared/job-file/draft/job-draft.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';

/** Whether the bucket of the job directory exists and can be read. */
export const checkJobDir: Check = async ({ draft, spec: { jobDir } }, { objects }) => {
  const { bucket } = parseGsUri(jobDir);
  if (await objects.hasBucket(bucket)) {
    return {};
  }
  const message = `The bucket ${bucket} of the job directory ${jobDir} does not exist, or this deployment may not read it.`;
  const remedy = `Create the bucket, and on Google Cloud grant on it roles/storage.legacyBucketReader to the accounts on-upload and on-submit, and roles/storage.objectUser to vm (terraform output service_accounts); or leave the field out to use a directory in the deployment's bucket.`;
  return { problems: [{ code: 'JOB_DIR_BUCKET_MISSING', message, remedy, path: fieldPath(draft.dialect, 'jobDir') }] };
};
