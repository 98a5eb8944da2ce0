import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { cancelJob } from '#shared/pipeline/cancel-job.ts';
import type { EventPorts } from '#shared/pipeline/handle-job-event.ts';
import { controlMessageSchema } from '#shared/protocol/stage-message.ts';

/** Control topic → cancel. A job that nobody knows is on record, and no reason to ask again. */
export function createOnControl(ports: PortsFor<EventPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = decodeMessage(event, controlMessageSchema, ports.logger);
    if (message !== undefined && (await cancelJob(ports, message.jobId, ports.clock.now())) === undefined) {
      ports.logger.log('WARNING', 'job to cancel is unknown', { jobId: message.jobId });
    }
  };
}
