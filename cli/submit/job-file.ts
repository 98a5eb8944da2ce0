import { createReadStream } from 'node:fs';
import { JOB_FILE_BYTES_MAX } from '#shared/job-file/parser/parse-source.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/** The bytes of a job file; of one that is too large no more than it takes to see that. Throws as reading does. */
export function readJobFileBytes(path: string): Promise<Uint8Array> {
  return readJobFileStream(createReadStream(path));
}

/** The same of what is piped in. */
export async function readJobFileStream(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes > JOB_FILE_BYTES_MAX) {
      break;
    }
  }
  return Buffer.concat(chunks);
}

/** Stands in for what a deployment says, by which no job is judged: what it supplies is not missed. */
export const OFFLINE_CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '2.11', jobDirBase: 'gs://jobs' },
  packageBase: 'gs://uploads',
  uploadBucket: null,
};
