import type { Hono } from 'hono';
import { errorBody } from '#shared/api/request.ts';
import type { ChangeFeed } from '#shared/ports/change-feed.ts';

/** Changes within this time become one event, whatever their number. */
const COALESCE_MS = 250;
/** Comments that show client and server that the connection is open. */
const KEEP_ALIVE_MS = 15_000;
/** Beyond this number an event names no jobs, and clients read again all that they show. */
const JOB_IDS_MAX = 500;
/** Each is a tab of a browser. */
const STREAMS_MAX = 100;

/**
 * `GET /v1/changes`: server-sent events that name the jobs which changed. Only an API that runs in one process with
 * everything else knows them; others answer 404, and clients poll.
 */
export function routeChanges(app: Hono, feed: ChangeFeed | undefined): void {
  let streamCount = 0;
  app.get('/v1/changes', (context) => {
    if (feed === undefined) {
      const remedy = 'Request resources again with If-None-Match.';
      return context.json(errorBody(404, 'This API sends no events.', remedy), 404);
    }
    if (streamCount >= STREAMS_MAX) {
      const remedy = 'Close other tabs of the page.';
      return context.json(errorBody(503, `${STREAMS_MAX} clients follow the changes already.`, remedy), 503);
    }
    streamCount += 1;
    const stream = streamChanges(feed, () => {
      streamCount -= 1;
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } });
  });
}

function streamChanges(feed: ChangeFeed, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const changed = new Set<string>();
  let flushing: NodeJS.Timeout | undefined;
  let keepAlive: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};
  return new ReadableStream({
    start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      const flush = () => {
        flushing = undefined;
        const data = changed.size > JOB_IDS_MAX ? { isEverything: true, jobIds: [] } : { jobIds: [...changed] };
        changed.clear();
        send(`event: change\ndata: ${JSON.stringify(data)}\n\n`);
      };
      // The first bytes open the connection for the client.
      send('retry: 2000\n\n');
      keepAlive = setInterval(() => send(': open\n\n'), KEEP_ALIVE_MS);
      unsubscribe = feed.subscribe((jobId) => {
        changed.add(jobId);
        flushing ??= setTimeout(flush, COALESCE_MS);
      });
    },
    cancel() {
      unsubscribe();
      clearInterval(keepAlive);
      clearTimeout(flushing);
      onEnd();
    },
  });
}
