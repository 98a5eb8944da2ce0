import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { RedeliverLater } from '#functions/redeliver-later.ts';
import { controlMessageSchema } from '#shared/protocol/stage-message.ts';
import { type CancelPorts, handleCancelMessage } from '#shared/use-cases/intake/cancel-job.ts';

/**
 * Control topic → cancel. An unknown job may not have been submitted yet: the message is redelivered for a while. After
 * that it is logged and acknowledged.
 */
export function createOnControl(ports: PortsFor<CancelPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = decodeMessage(event, controlMessageSchema, ports.logger);
    if (message === undefined) {
      return;
    }
    const { jobId } = message;
    const publishedAt = Date.parse(event.time ?? '');
    const outcome = await handleCancelMessage(ports, { jobId, publishedAt }, ports.clock.now());
    if (outcome === 'TOO_EARLY') {
      throw new RedeliverLater(
        `Job ${jobId}, which is to be cancelled, does not exist yet; the message is redelivered.`,
      );
    }
    if (outcome === 'UNKNOWN') {
      ports.logger.log('WARNING', 'job to cancel is unknown', { jobId });
    }
  };
}
