import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage } from '#functions/pushed-message.ts';
import { teardownMessageSchema } from '#shared/protocol/stage-message.ts';
import { sweep, type TeardownPorts, teardown } from '#shared/use-cases/teardown/teardown.ts';

/** Teardown topic → deletion of one job's VMs, or a sweep of all orphaned VMs. */
export function createTeardown(ports: PortsFor<TeardownPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const message = decodeMessage(pushed, teardownMessageSchema);
    if (message.type === 'SWEEP') {
      await sweep(ports, ports.clock.now());
    } else {
      await teardown(ports, message.jobId, ports.clock.now());
    }
  };
}
