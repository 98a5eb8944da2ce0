import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Locks a data directory for one embedded cloud; returns undefined if another process holds the lock. The lock is a
 * SQLite transaction that is never committed: it ends with the process, however the process ends, and does not depend
 * on process ids, which are reused.
 */
export function lockDataDir(dataDir: string): { release(): void } | undefined {
  // The directory holds uploads and a signing key.
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(join(dataDir, 'lock.db'));
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (error instanceof Error && /locked/.test(error.message)) {
      return undefined;
    }
    throw error;
  }
  return { release: () => lock.close() };
}
