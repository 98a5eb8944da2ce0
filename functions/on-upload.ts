import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage } from '#functions/pushed-message.ts';
import { elapsedMs } from '#shared/domain/history.ts';
import { storageObjectSchema } from '#shared/protocol/stage-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { logVerdict } from '#shared/use-cases/log-lines.ts';

/**
 * Cloud Storage notification that an object was finalized in the upload bucket → a job, or a report beside the upload.
 */
export function createOnUpload(ports: PortsFor<SubmitPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const upload = decodeMessage(pushed, storageObjectSchema);
    const { publishedAt } = pushed;
    const outcomes = await handleUpload(ports, { ...upload, publishedAt }, ports.clock.now());
    const verdictMs = elapsedMs(publishedAt, ports.clock.now());
    for (const { verdict, jobId } of outcomes) {
      logVerdict(ports.logger, { verdict, jobId, verdictMs, ...upload });
    }
  };
}
