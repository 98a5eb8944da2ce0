import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ScriptedRegistry = {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** Every request with its Authorization header: `GET /v2/a/manifests/1 Bearer t`. */
  readonly requests: string[];
  stop(): Promise<void>;
};

/** A server that answers as a test says, to play registries that are broken or hostile. */
export async function startScriptedRegistry(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<ScriptedRegistry> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push([request.method, request.url, request.headers.authorization].filter(Boolean).join(' '));
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
