import type { CloudEvent } from '@google-cloud/functions-framework';
import { receiveMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { type DeadLetterPorts, handleDeadLetter } from '#shared/use-cases/dead-letters/handle-dead-letter.ts';

/** A subscription is named after its topic and the deployment. */
function topicOf(subscription: string | undefined): string {
  return subscription?.replace(/^dropforge-/, '') ?? 'unknown';
}

/** Dead-letter topic → the log, and the job or upload that the message was about. */
export function createOnDeadLetter(ports: PortsFor<DeadLetterPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = receiveMessage(event, ports.logger);
    if (message !== undefined) {
      const topic = topicOf(message.attributes.CloudPubSubDeadLetterSourceSubscription);
      const tries = message.attributes.CloudPubSubDeadLetterSourceDeliveryCount ?? 'many';
      const { messageId } = message;
      ports.logger.log('ERROR', 'message exhausted its deliveries', { topic, messageId, tries });
      const letter = { topic, messageId, tries, body: parseJson(message.data.toString('utf8')) };
      await handleDeadLetter(ports, letter, ports.clock.now());
    }
  };
}
