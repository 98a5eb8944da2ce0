import * as z from 'zod';
import { parseJson } from '#shared/protocol/parse-json.ts';

/**
 * A push request (Pub/Sub docs, "Push subscriptions"). Not the CloudEvent that the functions-framework makes of it, which
 * has neither the delivery attempt nor the subscription.
 */
export const pushSchema = z
  .object({
    message: z.object({
      // Missing in a message that has attributes only.
      data: z.string().default(''),
      messageId: z.string().min(1),
      publishTime: z.string().optional(),
      attributes: z.record(z.string(), z.string()).nullish(),
    }),
    subscription: z.string().min(1),
    // Missing without a dead-letter policy.
    deliveryAttempt: z.int().optional().catch(undefined),
  })
  .transform(({ message: { messageId, attributes, publishTime = '', ...message }, subscription, deliveryAttempt }) => {
    const data = Buffer.from(message.data, 'base64');
    return {
      ...{ messageId, data, content: parseJson(data.toString('utf8')), attributes: attributes ?? {}, deliveryAttempt },
      /** All deliveries of a message have the same time. */
      publishedAt: Date.parse(publishTime) || undefined,
      subscription: subscription.slice(subscription.lastIndexOf('/') + 1),
    };
  });

export type PushedMessage = z.output<typeof pushSchema>;

/** Thrown for a message that is logged and acknowledged, since redelivery would not help. */
export class MalformedMessage extends Error {}

/**
 * Thrown for a valid message that arrived too early, or that its receiver cannot take now. Pub/Sub redelivers it; it is
 * logged at INFO.
 */
export class RedeliverLater extends Error {}

/** The content of the message, parsed by the schema. Throws MalformedMessage if it is another. */
export function decodeMessage<Schema extends z.ZodType>({ content }: PushedMessage, schema: Schema): z.infer<Schema> {
  return readOrThrow(schema.safeParse(content));
}

export function readOrThrow<Value>(parsed: z.ZodSafeParseResult<Value>): Value {
  if (!parsed.success) {
    throw new MalformedMessage(z.prettifyError(parsed.error));
  }
  return parsed.data;
}
