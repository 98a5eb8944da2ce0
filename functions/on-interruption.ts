import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage } from '#functions/pushed-message.ts';
import { interruptionMessageSchema } from '#shared/protocol/stage-message.ts';
import type { HeartbeatPorts } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { handleInterruption } from '#shared/use-cases/reconcile/handle-interruption.ts';

/** Log sink for Compute Engine's system events → the interruption of the attempt that lost its VM. */
export function createOnInterruption(ports: PortsFor<HeartbeatPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const { protoPayload, resource } = decodeMessage(pushed, interruptionMessageSchema);
    const { methodName } = protoPayload;
    await handleInterruption(ports, { instanceId: resource.labels.instance_id, methodName }, ports.clock.now());
  };
}
