import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';

/** One of several threads that increment the same job's `placementRound`, each on its own connection. */
export type CountingTask = {
  readonly databasePath: string;
  readonly name: string;
  readonly commits: number;
  /** The number of threads that are ready; all start when it reaches `threads`. */
  readonly ready: Int32Array;
  readonly threads: number;
};

const { databasePath, name, commits, ready, threads } = workerData as CountingTask;
const database = openDatabase(databasePath);
const store = openSqliteJobStore(database);
let stale = 0;
awaitOthers();
for (let done = 0; done < commits; ) {
  const stored = await store.read('digits');
  if (stored === undefined) {
    throw new Error('The job does not exist.');
  }
  const record = { ...stored.record, placementRound: stored.record.placementRound + 1 };
  const commit = { expectedRevision: stored.revision, eventId: `${name}-${done}`, record, effects: [] };
  if ((await store.commit(commit)) === 'COMMITTED') {
    done += 1;
  } else {
    stale += 1;
  }
}
database.close();
parentPort?.postMessage(stale);

function awaitOthers(): void {
  Atomics.add(ready, 0, 1);
  Atomics.notify(ready, 0);
  for (let count = Atomics.load(ready, 0); count < threads; count = Atomics.load(ready, 0)) {
    Atomics.wait(ready, 0, count);
  }
}
