import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Answers one call: a message in, a message out. */
export type GrpcMethod = (message: Buffer) => Buffer;

export type GrpcServer = { readonly port: number; close(): Promise<void> };

const UNIMPLEMENTED = 12;
const INTERNAL = 13;

/** A length of five bytes stands before each message: whether it is compressed, and its size. */
const PREFIX_BYTES = 5;

/** gRPC over HTTP/2 (grpc.io, "PROTOCOL-HTTP2"), plain, for calls without streams. Methods by `/service/name`. */
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
      refuse(stream, UNIMPLEMENTED, 'unimplemented');
      return;
    }
    answer(stream, method).catch((error: unknown) => refuse(stream, INTERNAL, String(error)));
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

async function answer(stream: ServerHttp2Stream, method: GrpcMethod): Promise<void> {
  const request = await buffer(stream);
  const message = method(request.subarray(PREFIX_BYTES));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([prefix, message]));
}

function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  stream.respond(
    { ...headers, 'grpc-status': String(status), 'grpc-message': encodeURIComponent(message) },
    { endStream: true },
  );
}
