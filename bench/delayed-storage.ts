import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';

/** Added to every request, as the way to a region and back. */
const DELAY_MS = 30;

/** A Cloud Storage server in its own process, whose answers are late: prints its port, and runs until it is killed. */
const [directory = '', bucket = ''] = process.argv.slice(2);
const database = openDatabase(`${directory}/state.sqlite`);
const store = openDirectoryObjectStore({
  database,
  directory: `${directory}/objects`,
  clock: { now: Date.now },
  onFinalized: () => undefined,
});
store.createBucket(bucket);
const reportError = (error: Error) => process.stderr.write(`${error.stack}\n`);
const app = new Hono()
  .use(async (_, next) => {
    await sleep(DELAY_MS);
    await next();
  })
  .route('/', createCloudStorageServer(store, { reportError }));
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send?.({ port }));
