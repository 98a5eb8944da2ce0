import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import { openStorage } from '#infra/google-cloud/cloud-storage/open-storage.ts';
import { createStorageObjectStore } from '#infra/google-cloud/cloud-storage/storage-object-store.ts';
import { createStorageFaults, SHORT_RETRIES } from './storage-faults.ts';

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
  const faulty = createStorageFaults({
    fetch(request) {
      requests.push(`${request.method} ${decodeURIComponent(new URL(request.url).pathname)}`);
      return intercept(request, app.fetch) ?? app.fetch(request);
    },
  });
  const server = createServer(faulty.listener);
  const port = await listen(server, 0);
  const url = `http://127.0.0.1:${port}`;
  return {
    store: createStorageObjectStore(openStorage({ apiEndpoint: url, projectId: 'p', retryOptions: SHORT_RETRIES })),
    /** The URL of the server. */
    url,
    /** The server's objects. */
    embedded,
    /** The faults of the server. */
    faulty,
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
