import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { createCloudStorageServer } from '../../../infra/embedded/cloud-storage/server.ts';
import { openDirectoryObjectStore } from '../../../infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';

/** The Cloud Storage emulator in its own process: sends its parent the port, and its peak memory on request. */
const directory = process.argv[2] ?? '';
const database = openDatabase(join(directory, 'state.sqlite'));
const store = openDirectoryObjectStore({ database, directory, clock: Date, onFinalized: () => {} });
const app = createCloudStorageServer(store, { reportError: (error) => process.stderr.write(`${error.stack}\n`) });
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send?.({ port }));
process.on('message', () => process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1_024 }));
process.on('disconnect', () => process.exit());
