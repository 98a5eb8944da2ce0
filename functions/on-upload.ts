import type { CloudEvent } from '@google-cloud/functions-framework';
import { z } from 'zod';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { takeUpload } from '#shared/pipeline/take-upload.ts';
import { storageObjectSchema } from '#shared/protocol/stage-message.ts';

/** An object was finished in the upload bucket → a job, or the reason why not, beside it. */
export function createOnUpload(ports: FunctionPorts) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const upload = storageObjectSchema.safeParse(event.data);
    if (!upload.success) {
      ports.logger.log('ERROR', 'upload event is malformed', {
        eventId: event.id,
        problem: z.prettifyError(upload.error),
      });
      return;
    }
    const outcome = await takeUpload(ports, upload.data, ports.clock.now());
    ports.logger.log('INFO', 'upload was taken', {
      ...upload.data,
      verdict: outcome?.verdict ?? 'IGNORED',
      jobId: outcome?.jobId,
    });
  };
}
