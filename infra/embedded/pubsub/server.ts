import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import * as z from 'zod';
import { base64DataSchema } from '#infra/embedded/http/body.ts';
import type { MessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/**
 * The topics that users may publish to. Internal topics are not exposed: on Google Cloud users cannot publish to them
 * either.
 */
const USER_TOPICS: ReadonlyMap<string, Topic> = new Map([
  ['dropforge-submit', 'submit'],
  ['dropforge-control', 'control'],
]);

/** Source: https://cloud.google.com/pubsub/quotas#resource_limits */
const REQUEST_BYTES_MAX = 10_000_000;
const ATTRIBUTES_MAX = 100;
const ATTRIBUTE_KEY_BYTES_MAX = 256;
const ATTRIBUTE_VALUE_BYTES_MAX = 1_024;

/** Below the queue's limit. Pub/Sub limits only the request. */
const MESSAGE_BYTES_MAX = 1_000_000;

const isShort = (text: string, bytesMax: number) => Buffer.byteLength(text) <= bytesMax;

const attributes = z
  .record(
    z
      .string()
      .refine(
        (key) => key !== '' && isShort(key, ATTRIBUTE_KEY_BYTES_MAX),
        `has a key that is empty or over ${ATTRIBUTE_KEY_BYTES_MAX} bytes`,
      ),
    z
      .string()
      .refine(
        (value) => isShort(value, ATTRIBUTE_VALUE_BYTES_MAX),
        `is a value over ${ATTRIBUTE_VALUE_BYTES_MAX} bytes`,
      ),
  )
  .refine((record) => Object.keys(record).length <= ATTRIBUTES_MAX, `are more than ${ATTRIBUTES_MAX}`);

const message = z
  .object({ data: base64DataSchema.default(''), attributes: attributes.default({}) })
  .refine(
    (written) => written.data !== '' || Object.keys(written.attributes).length > 0,
    'is empty: give it data or an attribute',
  )
  .refine((written) => isShort(JSON.stringify(written), MESSAGE_BYTES_MAX), `is over ${MESSAGE_BYTES_MAX} bytes`);

const publishRequestSchema = z.object({ messages: z.array(message).min(1).max(1_000) });

/**
 * The Pub/Sub emulator, limited to what users need: listing topics and publishing over REST, as gcloud does. Other
 * Pub/Sub methods under `/v1/projects` return an UNIMPLEMENTED error; gRPC is not supported. Source:
 * https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics
 */
export function createPubsubServer(queue: MessageQueue): Hono {
  const app = new Hono();
  app.get('/v1/projects/:project/topics', (context) => {
    const name = (topic: string) => `projects/${context.req.param('project')}/topics/${topic}`;
    return context.json({ topics: [...USER_TOPICS.keys()].map((topic) => ({ name: name(topic) })) });
  });
  app.get('/v1/projects/:project/topics/:topic', (context) => {
    const { project, topic } = context.req.param();
    return USER_TOPICS.has(topic)
      ? context.json({ name: `projects/${project}/topics/${topic}` })
      : notFoundResponse(context, topic);
  });
  const limit = bodyLimit({
    maxSize: REQUEST_BYTES_MAX,
    onError: (context) => invalidResponse(context, `The request exceeds the limit of ${REQUEST_BYTES_MAX} bytes.`),
  });
  app.post('/v1/projects/:project/topics/:target{.+:publish}', limit, async (context) => {
    const name = context.req.param('target').replace(/:publish$/, '');
    const topic = USER_TOPICS.get(name);
    return topic === undefined ? notFoundResponse(context, name) : await publish(context, queue, topic);
  });
  app.all('/v1/projects/:project/:kind{topics|subscriptions|snapshots|schemas}/*', notSupportedResponse);
  app.all('/v1/projects/:project/:kind{topics|subscriptions|snapshots|schemas}', notSupportedResponse);
  return app;
}

async function publish(context: Context, queue: MessageQueue, topic: Topic): Promise<Response> {
  const parsed = publishRequestSchema.safeParse(await context.req.json().catch(() => undefined));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return invalidResponse(context, `Invalid value at ${issue?.path.join('.') || 'the request'}: ${issue?.message}.`);
  }
  const messageIds = parsed.data.messages.map((written) =>
    queue.enqueue(topic, Buffer.from(written.data, 'base64'), written.attributes),
  );
  return context.json({ messageIds });
}

function invalidResponse(context: Context, message: string): Response {
  return context.json({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }, 400);
}

function notFoundResponse(context: Context, name: string): Response {
  const known = [...USER_TOPICS.keys()].join(' or ');
  const message = `Topic ${name} does not exist. Publish to ${known}.`;
  return context.json({ error: { code: 404, message, status: 'NOT_FOUND' } }, 404);
}

/** Not 501, to which gRPC's UNIMPLEMENTED maps: clients retry it. */
function notSupportedResponse(context: Context): Response {
  const { method, path } = context.req;
  const message = `The embedded cloud does not support the Pub/Sub method ${method} ${path}. Publish to a topic that it lists.`;
  return context.json({ error: { code: 405, message, status: 'UNIMPLEMENTED' } }, 405);
}
