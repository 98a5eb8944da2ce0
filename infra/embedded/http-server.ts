import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** The embedded cloud is nobody's business but this machine's. */
export const HOST = '127.0.0.1';

/** Resolves with the port once the server listens; 0 takes any. */
export async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, HOST);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The preferred port when it is free, otherwise another that is. */
export async function findFreePort(preferred: number): Promise<number> {
  return (await tryPort(preferred)) ?? (await findFreePort(0));
}

async function tryPort(port: number): Promise<number | undefined> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(undefined));
    probe.listen(port, HOST, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}

/** Ends open connections too: what they carried is delivered again. */
export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve, reject) =>
    server.close((error) => (error === undefined ? resolve() : reject(error))),
  );
}
