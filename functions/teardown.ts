import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import type { PushedMessage } from '#functions/pushed-message.ts';
import { teardownMessageSchema } from '#shared/protocol/stage-message.ts';
import { sweep, type TeardownPorts, teardown } from '#shared/use-cases/teardown/teardown.ts';

/** Teardown topic → deletion of one job's VMs, or a sweep of all orphaned VMs. */
export function createTeardown(ports: PortsFor<TeardownPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const message = decodeMessage(pushed, teardownMessageSchema, ports.logger);
    if (message?.type === 'SWEEP') {
      await sweep(ports, ports.clock.now());
    } else if (message?.type === 'TEARDOWN') {
      await teardown(ports, message.jobId, ports.clock.now());
    }
  };
}
