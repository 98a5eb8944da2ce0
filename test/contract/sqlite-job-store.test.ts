import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import type { CountingTask } from '../support/contract/commit-repeatedly.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import { describeJobStoreContract } from './job-store.contract.ts';

describeJobStoreContract('SQLite', onDatabaseFile(openSqliteJobStore));

it('loses no commit of threads that write the same job concurrently', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-contract-'));
  const databasePath = join(directory, 'state.sqlite');
  const database = openDatabase(databasePath);
  const store = openSqliteJobStore(database);
  await store.create({ ...queuedJob(), placementRound: 0 }, []);
  const commits = 200;
  const ready = new Int32Array(new SharedArrayBuffer(4));
  const workers = ['a', 'b', 'c'].map((name) => {
    const workerData: CountingTask = { databasePath, name, commits, ready, threads: 3 };
    return new Worker(new URL('../support/contract/commit-repeatedly.ts', import.meta.url), { workerData });
  });
  const responses = await Promise.all(workers.map((worker) => once(worker, 'message')));
  const stale = responses.flat().reduce((sum, count: number) => sum + count, 0);
  expect((await store.read('digits'))?.record.placementRound).toBe(3 * commits);
  expect(stale, 'commits conflicted').toBeGreaterThan(0);
  database.close();
  await rm(directory, { recursive: true });
});
