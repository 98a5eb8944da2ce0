import { createReadStream } from 'node:fs';
import { JOB_FILE_BYTES_MAX } from '#shared/job-file/parser/parse-source.ts';

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
