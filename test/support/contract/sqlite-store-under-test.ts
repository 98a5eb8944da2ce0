import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import type { OpenStore } from './store-under-test.ts';

/** Opens a store on its own database file; each further connection opens the file again. */
export function onDatabaseFile<Store>(open: (database: Database) => Store): OpenStore<Store> {
  return async () => {
    const directory = await mkdtemp(join(tmpdir(), 'dropforge-contract-'));
    const databases: Database[] = [];
    const connect = async () => {
      const database = openDatabase(join(directory, 'state.sqlite'));
      databases.push(database);
      return open(database);
    };
    return {
      store: await connect(),
      connect,
      async close() {
        for (const database of databases) {
          database.close();
        }
        await rm(directory, { recursive: true });
      },
    };
  };
}
