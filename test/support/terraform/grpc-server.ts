import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A unary call: request message to response message. */
export type GrpcMethod = (message: Buffer) => Buffer;

export type GrpcServer = { readonly port: number; close(): Promise<void> };

const UNIMPLEMENTED = 12;
const INTERNAL = 13;

/** Each message has a prefix of one byte (compressed or not) and four bytes (its length). */
const PREFIX_BYTES = 5;

/** Serves unary gRPC calls over plaintext HTTP/2 (grpc.io, "PROTOCOL-HTTP2"). Methods are keyed by `/service/name`. */
export async function startGrpcServer(methods: Readonly<Record<string, GrpcMethod>>): Promise<GrpcServer> {
  const sessions = new Set<{ destroy(): void }>();
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => session.destroy());
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => stream.close());
    const method = methods[String(headers[':path'])];
    if (method === undefined) {
      sendError(stream, UNIMPLEMENTED, 'unimplemented');
      return;
    }
    handleCall(stream, method).catch((error: unknown) => sendError(stream, INTERNAL, String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) {
          session.destroy();
        }
      }),
  };
}

async function handleCall(stream: ServerHttp2Stream, method: GrpcMethod): Promise<void> {
  const request = await buffer(stream);
  const message = method(request.subarray(PREFIX_BYTES));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([prefix, message]));
}

function sendError(stream: ServerHttp2Stream, status: number, message: string): void {
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  stream.respond(
    { ...headers, 'grpc-status': String(status), 'grpc-message': encodeURIComponent(message) },
    { endStream: true },
  );
}
