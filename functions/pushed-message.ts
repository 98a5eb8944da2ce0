import * as z from 'zod';
import { parseJson } from '#shared/protocol/parse-json.ts';

/**
 * A push request (Pub/Sub docs, "Push subscriptions"). It is not taken from the functions-framework, whose CloudEvent has
 * no delivery attempt and no subscription.
 */
const pushSchema = z.object({
  message: z.object({
    data: z.string().min(1),
    messageId: z.string().min(1),
    publishTime: z.string().optional(),
    attributes: z.record(z.string(), z.string()).nullish(),
  }),
  subscription: z.string().min(1),
  // Missing without a dead-letter policy.
  deliveryAttempt: z.int().optional().catch(undefined),
});

export type PushedMessage = {
  readonly messageId: string;
  readonly data: Buffer;
  /** The data as JSON; undefined if it is none. */
  readonly content: unknown;
  readonly attributes: Readonly<Record<string, string>>;
  /** When the message was published; all deliveries of it have the same time. */
  readonly publishedAt: number | undefined;
  readonly deliveryAttempt: number | undefined;
  /** Its name, without the project. */
  readonly subscription: string;
};

/** The message in the body of a push, or what is wrong with it. */
export function readPush(body: unknown): PushedMessage | { readonly problem: string } {
  const parsed = pushSchema.safeParse(body);
  if (!parsed.success) {
    return { problem: z.prettifyError(parsed.error) };
  }
  const { message, subscription, deliveryAttempt } = parsed.data;
  const data = Buffer.from(message.data, 'base64');
  return {
    messageId: message.messageId,
    data,
    content: parseJson(data.toString('utf8')),
    attributes: message.attributes ?? {},
    publishedAt: Date.parse(message.publishTime ?? '') || undefined,
    deliveryAttempt,
    subscription: subscription.slice(subscription.lastIndexOf('/') + 1),
  };
}
