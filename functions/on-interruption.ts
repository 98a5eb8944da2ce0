import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import type { PushedMessage } from '#functions/pushed-message.ts';
import { interruptionMessageSchema } from '#shared/protocol/stage-message.ts';
import type { HeartbeatPorts } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { handleInterruption } from '#shared/use-cases/reconcile/handle-interruption.ts';

/** Log sink for Compute Engine's system events → the interruption of the attempt that lost its VM. */
export function createOnInterruption(ports: PortsFor<HeartbeatPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const entry = decodeMessage(pushed, interruptionMessageSchema, ports.logger);
    if (entry !== undefined) {
      const { methodName } = entry.protoPayload;
      const instanceId = entry.resource.labels.instance_id;
      await handleInterruption(ports, { instanceId, methodName }, ports.clock.now());
    }
  };
}
