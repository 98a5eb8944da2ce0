import type { PortsFor } from '#functions/function-ports.ts';
import type { PushedMessage } from '#functions/pushed-message.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import { type DeadLetterPorts, handleDeadLetter } from '#shared/use-cases/dead-letters/handle-dead-letter.ts';
import { recordUndelivered, type UndeliveredPorts } from '#shared/use-cases/notify/record-undelivered.ts';

/** A subscription is named after its topic and the deployment. */
function topicOf(subscription: string | undefined): string {
  return subscription?.replace(/^dropforge-/, '') ?? 'unknown';
}

/** Dead-letter topic → the log, and the job or upload that the message was about. */
export function createOnDeadLetter(ports: PortsFor<DeadLetterPorts & UndeliveredPorts>) {
  return async ({ messageId, data, content: body, attributes }: PushedMessage): Promise<void> => {
    const topic = topicOf(attributes.CloudPubSubDeadLetterSourceSubscription);
    const tries = attributes.CloudPubSubDeadLetterSourceDeliveryCount ?? 'many';
    const now = ports.clock.now();
    if (topic.startsWith(SUBSCRIPTION_PREFIX)) {
      // The subscription of a notification channel: the job that the message is about does not wait for it.
      const channel = topic.slice(SUBSCRIPTION_PREFIX.length);
      const problem = await recordUndelivered(ports, { channel, body, tries }, now);
      const fields = { kind: 'notification', channel, messageId, tries, problem };
      ports.logger.log('WARNING', 'notification was not delivered', fields);
      return;
    }
    ports.logger.log('ERROR', 'message exhausted its deliveries', { topic, messageId, tries });
    await handleDeadLetter(ports, { topic, messageId, tries, data }, now);
  };
}
