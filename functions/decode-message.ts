import * as z from 'zod';
import type { PushedMessage } from '#functions/pushed-message.ts';
import type { Logger } from '#shared/observability/logger.ts';

/**
 * The message, parsed by the schema. Logs and returns undefined if it is malformed, since redelivery would not help.
 */
export function decodeMessage<Schema extends z.ZodType>(
  { content }: PushedMessage,
  schema: Schema,
  logger: Logger,
): z.infer<Schema> | undefined {
  const parsed = schema.safeParse(content);
  if (!parsed.success) {
    logger.log('ERROR', 'message is malformed', { problem: z.prettifyError(parsed.error) });
    return undefined;
  }
  return parsed.data;
}
