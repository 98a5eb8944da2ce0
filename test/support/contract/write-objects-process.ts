import { join } from 'node:path';
import { openDirectoryObjectStore } from '../../../infra/embedded/cloud-storage/store/directory-object-store.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';

/**
 * Writes objects in an endless loop, four at a time, and prints the name of each acknowledged one, until it is killed.
 */
const directory = process.argv[2] ?? '';
const database = openDatabase(join(directory, 'state.sqlite'));
const store = openDirectoryObjectStore({ database, directory, clock: Date, onFinalized: () => {} });
store.createBucket('crash');

async function writeForever(worker: number): Promise<void> {
  for (let count = 0; ; count++) {
    const name = `${process.pid}-${worker}-${count}`;
    await store.write({ bucket: 'crash', name }, Buffer.from(name.repeat(1_000)));
    process.stdout.write(`${name}\n`);
  }
}

await Promise.all([0, 1, 2, 3].map(writeForever));
