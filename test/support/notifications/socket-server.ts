import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { HOST } from '#infra/embedded/http/server.ts';

/** A TCP server on this machine that passes each connection to `serve`. */
export async function startSocketServer(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    serve(socket);
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async close(): Promise<void> {
      server.close();
      for (const socket of sockets) {
        socket.destroy();
      }
      await once(server, 'close');
    },
  };
}
