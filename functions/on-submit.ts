import type { CloudEvent } from '@google-cloud/functions-framework';
import { publishedAtOf, receiveMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';

/** Submit topic → a job, or a report in the upload bucket. */
export function createOnSubmit(ports: PortsFor<SubmitPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = receiveMessage(event, ports.logger);
    if (message !== undefined) {
      const { messageId } = message;
      const published = { ...message, publishedAt: publishedAtOf(event) };
      const { verdict, jobId } = await handleSubmitMessage(ports, published, ports.clock.now());
      ports.logger.log('INFO', 'submission handled', { messageId, verdict, jobId });
    }
  };
}
