import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage, RedeliverLater } from '#functions/pushed-message.ts';
import { controlMessageSchema } from '#shared/protocol/stage-message.ts';
import { type CancelPorts, handleCancelMessage } from '#shared/use-cases/intake/cancel-job.ts';

/**
 * Control topic → cancel. An unknown job may not have been submitted yet: the message is redelivered for a while. After
 * that it is logged and acknowledged.
 */
export function createOnControl(ports: PortsFor<CancelPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const { jobId } = decodeMessage(pushed, controlMessageSchema);
    const now = ports.clock.now();
    const outcome = await handleCancelMessage(ports, { jobId, publishedAt: pushed.publishedAt ?? now }, now);
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
