import type { CloudEvent } from '@google-cloud/functions-framework';
import { receiveMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { type DeadLetterPorts, handleDeadLetter } from '#shared/use-cases/dead-letters/handle-dead-letter.ts';
import { recordUndelivered, type UndeliveredPorts } from '#shared/use-cases/notify/record-undelivered.ts';

/** A subscription is named after its topic and the deployment. */
function topicOf(subscription: string | undefined): string {
  return subscription?.replace(/^dropforge-/, '') ?? 'unknown';
}

/** Dead-letter topic → the log, and the job or upload that the message was about. */
export function createOnDeadLetter(ports: PortsFor<DeadLetterPorts & UndeliveredPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = receiveMessage(event, ports.logger);
    if (message !== undefined) {
      const topic = topicOf(message.attributes.CloudPubSubDeadLetterSourceSubscription);
      const tries = message.attributes.CloudPubSubDeadLetterSourceDeliveryCount ?? 'many';
      const { messageId } = message;
      ports.logger.log('ERROR', 'message exhausted its deliveries', { topic, messageId, tries });
      const now = ports.clock.now();
      if (topic.startsWith(SUBSCRIPTION_PREFIX)) {
        // The subscription of a notification channel: the job that the message is about does not wait for it.
        const channel = topic.slice(SUBSCRIPTION_PREFIX.length);
        const body = parseJson(message.data.toString('utf8'));
        const problem = await recordUndelivered(ports, { channel, body, tries }, now);
        ports.logger.log('ERROR', 'notification was not delivered', { channel, problem });
      } else {
        await handleDeadLetter(ports, { topic, messageId, tries, data: message.data }, now);
      }
    }
  };
}
