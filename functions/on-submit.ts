import type { PortsFor } from '#functions/function-ports.ts';
import type { PushedMessage } from '#functions/pushed-message.ts';
import { elapsedMs } from '#shared/domain/history.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { logVerdict } from '#shared/use-cases/log-lines.ts';

/** Submit topic → a job, or a report in the upload bucket. */
export function createOnSubmit(ports: PortsFor<SubmitPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const { messageId, publishedAt } = pushed;
    const { verdict, jobId } = await handleSubmitMessage(ports, pushed, ports.clock.now());
    const verdictMs = elapsedMs(publishedAt, ports.clock.now());
    logVerdict(ports.logger, { verdict, jobId, verdictMs, messageId });
  };
}
