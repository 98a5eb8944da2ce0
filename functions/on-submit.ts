import type { PortsFor } from '#functions/function-ports.ts';
import type { PushedMessage } from '#functions/pushed-message.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';

/** Submit topic → a job, or a report in the upload bucket. */
export function createOnSubmit(ports: PortsFor<SubmitPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const { messageId } = pushed;
    const { verdict, jobId } = await handleSubmitMessage(ports, pushed, ports.clock.now());
    ports.logger.log('INFO', 'submission handled', { messageId, verdict, jobId });
  };
}
