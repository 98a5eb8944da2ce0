import type { CloudEvent } from '@google-cloud/functions-framework';
import * as z from 'zod';
import type { Logger } from '#shared/observability/logger.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/**
 * Payload of the CloudEvent `google.cloud.pubsub.topic.v1.messagePublished`, to which the framework converts a push.
 */
const messagePublishedSchema = z.object({
  message: z.object({
    data: z.string(),
    messageId: z.string(),
    attributes: z.record(z.string(), z.string()).default({}),
  }),
});

/** When the message was published; all deliveries of it have the same time. */
export function publishedAtOf({ time }: CloudEvent<unknown>): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

export type ReceivedMessage = {
  readonly messageId: string;
  readonly data: Buffer;
  readonly attributes: Readonly<Record<string, string>>;
};

/** The message in the event. Logs and returns undefined if there is none, since redelivery would not help. */
export function receiveMessage(event: CloudEvent<unknown>, logger: Logger): ReceivedMessage | undefined {
  const parsed = messagePublishedSchema.safeParse(event.data);
  if (!parsed.success) {
    logger.log('ERROR', 'event carries no message', { eventId: event.id, problem: z.prettifyError(parsed.error) });
    return undefined;
  }
  const { data, messageId, attributes } = parsed.data.message;
  return { messageId, attributes, data: Buffer.from(data, 'base64') };
}

/**
 * The message, parsed by the schema. Logs and returns undefined if it is malformed, since redelivery would not help.
 */
export function decodeMessage<Schema extends z.ZodType>(
  event: CloudEvent<unknown>,
  schema: Schema,
  logger: Logger,
): z.infer<Schema> | undefined {
  const message = receiveMessage(event, logger);
  if (message === undefined) {
    return undefined;
  }
  const parsed = schema.safeParse(parseJson(message.data.toString('utf8')));
  if (!parsed.success) {
    const { messageId } = message;
    logger.log('ERROR', 'message is malformed', { messageId, problem: z.prettifyError(parsed.error) });
    return undefined;
  }
  return parsed.data;
}
