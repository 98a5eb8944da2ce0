import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { FunctionPorts, PortsFor } from '#functions/function-ports.ts';
import { provisionMessageSchema } from '#shared/protocol/stage-message.ts';
import { type ProvisionPorts, provision } from '#shared/use-cases/provision/provision.ts';

/** Provision topic → VMs. Returning acknowledges the message; throwing has it redelivered. */
export function createProvision(ports: PortsFor<ProvisionPorts & Pick<FunctionPorts, 'vmSettings'>>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = decodeMessage(event, provisionMessageSchema, ports.logger);
    if (message !== undefined) {
      await provision(ports, message, { now: ports.clock.now(), settings: ports.vmSettings });
    }
  };
}
