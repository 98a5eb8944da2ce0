import type { FunctionPorts, PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage } from '#functions/pushed-message.ts';
import { provisionMessageSchema } from '#shared/protocol/stage-message.ts';
import { type ProvisionPorts, provision } from '#shared/use-cases/provision/provision.ts';

/** Provision topic → VMs. Returning acknowledges the message; throwing has it redelivered. */
export function createProvision(ports: PortsFor<ProvisionPorts & Pick<FunctionPorts, 'vmSettings'>>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const message = decodeMessage(pushed, provisionMessageSchema);
    await provision(ports, message, { now: ports.clock.now(), settings: ports.vmSettings });
  };
}
