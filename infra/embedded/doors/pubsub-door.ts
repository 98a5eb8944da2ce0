import { Hono } from 'hono';
import { z } from 'zod';
import type { MessageQueue } from '#infra/embedded/messages/sqlite-message-queue.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** The topics that users publish to. The stages' own topics have no door: on Google Cloud no user may publish there either. */
const USER_TOPICS: ReadonlyMap<string, Topic> = new Map([
  ['submit', 'submit'],
  ['control', 'control'],
]);

const TOPIC_PREFIX = 'dropforge-';

const publishRequestSchema = z.object({
  messages: z
    .array(z.object({ data: z.base64().default(''), attributes: z.record(z.string(), z.string()).default({}) }))
    .min(1)
    .max(1_000),
});

/** Pub/Sub's REST door: `POST /v1/projects/P/topics/T:publish`, as `gcloud pubsub topics publish` calls it. */
export function createPubsubDoor(queue: MessageQueue): Hono {
  const door = new Hono();
  door.post('/v1/projects/:project/topics/:target{.+:publish}', async (context) => {
    const name = context.req.param('target').replace(/:publish$/, '');
    const topic = USER_TOPICS.get(name.replace(TOPIC_PREFIX, ''));
    if (topic === undefined) {
      const known = [...USER_TOPICS.keys()].map((key) => `${TOPIC_PREFIX}${key}`).join(' and ');
      return context.json(
        failure(404, 'NOT_FOUND', `There is no topic ${name} to publish to; there are ${known}.`),
        404,
      );
    }
    const parsed = publishRequestSchema.safeParse(await context.req.json().catch(() => undefined));
    if (!parsed.success) {
      return context.json(failure(400, 'INVALID_ARGUMENT', z.prettifyError(parsed.error)), 400);
    }
    const { messages } = parsed.data;
    return context.json({
      messageIds: messages.map(({ data, attributes }) => queue.enqueue(topic, Buffer.from(data, 'base64'), attributes)),
    });
  });
  return door;
}

function failure(code: number, status: string, message: string) {
  return { error: { code, message, status } };
}
