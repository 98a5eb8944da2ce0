import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * One embedded cloud at a time on a data directory. The lock is a transaction of SQLite that is never committed: it
 * ends with the process, however that ends, and no process id can be taken for another. Undefined when somebody has
 * it.
 */
export function lockDataDir(dataDir: string): { release(): void } | undefined {
  // It holds uploads and a signing key.
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
