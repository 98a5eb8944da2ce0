import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { RedeliverLater } from '#functions/redeliver-later.ts';
import { controlMessageSchema } from '#shared/protocol/stage-message.ts';
import type { EventPorts } from '#shared/use-cases/handle-job-event.ts';
import { handleCancelMessage } from '#shared/use-cases/intake/cancel-job.ts';

/**
 * Control topic → cancel. A job that nobody knows may not have been taken in yet: the message comes again for a while.
 * Then the job is on record, and no reason to ask again.
 */
export function createOnControl(ports: PortsFor<EventPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = decodeMessage(event, controlMessageSchema, ports.logger);
    if (message === undefined) {
      return;
    }
    const { jobId } = message;
    const publishedAt = Date.parse(event.time ?? '');
    const outcome = await handleCancelMessage(ports, { jobId, publishedAt }, ports.clock.now());
    if (outcome === 'TOO_EARLY') {
      throw new RedeliverLater(`Job ${jobId} is to be cancelled and is not there yet; the message is delivered again.`);
    }
    if (outcome === 'UNKNOWN') {
      ports.logger.log('WARNING', 'job to cancel is unknown', { jobId });
    }
  };
}
