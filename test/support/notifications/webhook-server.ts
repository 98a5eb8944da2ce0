import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';

export type ReceivedWebhook = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** A real server that records what it receives, and answers as the test says: by default with 200. */
export async function startWebhookServer() {
  const received: ReceivedWebhook[] = [];
  const state = {
    answer: (_: ReceivedWebhook, response: ServerResponse): void => void response.writeHead(200).end('ok'),
  };
  const server = createServer(async (request, response) => {
    const one = { path: request.url ?? '', headers: request.headers, body: await text(request) };
    received.push(one);
    state.answer(one, response);
  });
  const port = await listen(server, 0);
  return Object.assign(state, {
    received,
    url: `http://${HOST}:${port}`,
    close: () => {
      server.closeAllConnections();
      return closeServer(server);
    },
  });
}

export type WebhookServer = Awaited<ReturnType<typeof startWebhookServer>>;
