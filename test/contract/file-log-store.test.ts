import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { describeLogStoreContract, type LogStoreUnderTest } from './log-store.contract.ts';

describeLogStoreContract('A directory of files', async () => openIn(await mkdtemp(join(tmpdir(), 'dropforge-logs-'))));

function openIn(directory: string): LogStoreUnderTest {
  const store = openFileLogStore(directory);
  return {
    store,
    write: async (entries) => store.append(entries),
    reopen: async () => openIn(directory),
    close: () => rm(directory, { recursive: true }),
  };
}
