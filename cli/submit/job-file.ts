import { createReadStream } from 'node:fs';
import { readStart } from '#cli/client/read-start.ts';
import { JOB_FILE_BYTES_MAX } from '#shared/job-file/parser/parse-source.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/** Reads a job file, up to just over the size limit, to detect that it is too large. Throws file system errors. */
export function readJobFileBytes(path: string): Promise<Uint8Array> {
  return readJobFileStream(createReadStream(path));
}

/** Same as `readJobFileBytes`, for standard input. */
export function readJobFileStream(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return readStart(stream, JOB_FILE_BYTES_MAX);
}

/** Placeholders for values that a deployment supplies, so that offline validation does not report them as missing. */
export const OFFLINE_CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '2.11', jobDirBase: 'gs://jobs' },
  packageBase: 'gs://uploads',
  uploadBucket: null,
};
