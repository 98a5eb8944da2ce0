import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Storage } from '@google-cloud/storage';
import { getRequestListener } from '@hono/node-server';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';

type Pass = (request: Request) => Response | Promise<Response>;

export type StorageUnderTest = Awaited<ReturnType<typeof openStorageUnderTest>>;

/** Google's client, connected to an embedded Cloud Storage server whose responses a test may replace. */
export async function openStorageUnderTest(
  intercept: (request: Request, pass: Pass) => ReturnType<Pass> | undefined = () => undefined,
) {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-storage-'));
  const database = openDatabase(join(directory, 'state.sqlite'));
  const embedded = openDirectoryObjectStore({ database, directory, clock: Date, onFinalized: () => {} });
  const faults: string[] = [];
  const app = createCloudStorageServer(embedded, { reportError: (error) => void faults.push(String(error)) });
  const requests: string[] = [];
  const server = createServer(
    getRequestListener((request) => {
      requests.push(`${request.method} ${decodeURIComponent(new URL(request.url).pathname)}`);
      return intercept(request, app.fetch) ?? app.fetch(request);
    }),
  );
  const port = await listen(server, 0);
  const storage = new Storage({ apiEndpoint: `http://127.0.0.1:${port}`, projectId: 'dropforge-local' });
  return {
    store: createStorageObjectStore(storage),
    /** The server's objects. */
    embedded,
    /** Method and path of every request, the oldest first. */
    requests,
    faults,
    async close() {
      await closeServer(server);
      database.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** An error response of Cloud Storage (docs, "HTTP status and error codes for JSON"). */
export function rejection(status: number, reason: string, message: string): Response {
  return Response.json(
    { error: { code: status, message, errors: [{ message, domain: 'global', reason }] } },
    { status },
  );
}
