import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { LogEntry, LogPage, LogStore } from '#shared/ports/log-store.ts';

/** An entry with an id for deduplication, as Cloud Logging's `insertId`: an entry written twice is stored once. */
export type IdentifiedLogEntry = LogEntry & { readonly insertId: string };

export type FileLogStore = LogStore & {
  /** Appends the entries to the logs of their jobs; entries already stored are skipped. */
  append(entries: readonly IdentifiedLogEntry[]): void;
  /** A job's first `countMax` entries with their ids, in order of arrival. */
  listIdentified(jobId: string, countMax: number): readonly IdentifiedLogEntry[];
};

/** Size limit of one job's log file; later entries are dropped, and a last line says so. */
const LOG_FILE_BYTES_MAX = 512 * 2 ** 20;
const READ_BYTES_MAX = 2 ** 20;
/** A page with entries ends after as many bytes of the file, so that it stays small if lines are long. */
const PAGE_BYTES_MAX = 8 * 2 ** 20;
/**
 * Retries come within seconds of the first attempt: this many ids are kept per job, also across restarts of the cloud.
 */
const REMEMBERED_IDS_MAX = 20_000;
const REMEMBERED_BYTES_MAX = 4 * 2 ** 20;
/** For the jobs that have logged least recently, the ids are evicted and read from the file again when needed. */
const REMEMBERED_JOBS_MAX = 50;
const NEWLINE = 0x0a;

/** Logs as JSON lines, one file per job; a cursor is a byte position in the file. */
export function openFileLogStore(
  directory: string,
  { fileBytesMax = LOG_FILE_BYTES_MAX }: { readonly fileBytesMax?: number } = {},
): FileLogStore {
  mkdirSync(directory, { recursive: true });
  const seenIds = new Map<string, Set<string>>();
  const pathOf = (jobId: string) => join(directory, `${jobId}.jsonl`);

  function appendToJob(jobId: string, entries: readonly IdentifiedLogEntry[]): void {
    const path = pathOf(jobId);
    const ids = seenIds.get(jobId) ?? recoverIds(path);
    // Cached again only after the write: after a failed write, the ids are read from the file again.
    seenIds.delete(jobId);
    const fresh = new Map(entries.filter(({ insertId }) => !ids.has(insertId)).map((entry) => [entry.insertId, entry]));
    const [first] = fresh.values();
    const size = sizeOf(path);
    if (first !== undefined && size < fileBytesMax) {
      const text = [...fresh.values()].map((entry) => `${JSON.stringify(entry)}\n`).join('');
      const isLast = size + Buffer.byteLength(text) >= fileBytesMax;
      appendFileSync(path, isLast ? text + limitNotice(first, fileBytesMax) : text);
    }
    for (const insertId of fresh.keys()) {
      ids.add(insertId);
    }
    seenIds.set(jobId, ids);
    evictOldest(ids, REMEMBERED_IDS_MAX);
    evictOldest(seenIds, REMEMBERED_JOBS_MAX);
  }

  return {
    append(entries) {
      for (const [jobId, ofJob] of Map.groupBy(entries, (entry) => entry.jobId)) {
        appendToJob(jobId, ofJob);
      }
    },
    listIdentified(jobId, countMax) {
      const entries: IdentifiedLogEntry[] = [];
      for (let position = 0; entries.length < countMax; ) {
        const bytes = readWholeLines(pathOf(jobId), position);
        if (bytes.length === 0) {
          break;
        }
        position += bytes.length;
        const lines = bytes.toString('utf8').split('\n').slice(0, -1);
        entries.push(...lines.map((line) => JSON.parse(line) as IdentifiedLogEntry));
      }
      return entries.slice(0, countMax);
    },
    read: (query) => readPage(pathOf(query.jobId), query),
  };
}

async function readPage(
  path: string,
  { replica, cursor, countMax }: Omit<Parameters<LogStore['read']>[0], 'jobId'>,
): Promise<LogPage> {
  const entries: LogEntry[] = [];
  const start = positionOf(path, cursor);
  let position = start;
  for (let isEnd = false; !isEnd && entries.length < countMax; ) {
    const lines = readWholeLines(path, position).toString('utf8').split('\n').slice(0, -1);
    for (const line of lines) {
      const entry = parseEntry(line);
      const isFound = replica === undefined || entry.replica === replica;
      if (isFound && entries.length === countMax) {
        break;
      }
      entries.push(...(isFound ? [entry] : []));
      position += Buffer.byteLength(line) + 1;
    }
    isEnd = lines.length === 0 || (entries.length > 0 && position - start > PAGE_BYTES_MAX);
    // Other requests are answered while the lines of other replicas are skipped.
    await setImmediate();
  }
  return { entries, cursor: String(position) };
}

function limitNotice(first: IdentifiedLogEntry, fileBytesMax: number): string {
  const text = `The log has reached its limit of ${fileBytesMax} bytes; later entries are dropped.`;
  const notice: IdentifiedLogEntry = { ...first, insertId: 'limit', text, severity: 'WARNING', stream: 'agent' };
  return `${JSON.stringify(notice)}\n`;
}

function parseEntry(line: string): LogEntry {
  const { insertId: _, ...entry } = JSON.parse(line) as IdentifiedLogEntry;
  return entry;
}

function evictOldest(cache: Set<string> | Map<string, unknown>, countMax: number): void {
  for (const key of cache.keys()) {
    if (cache.size <= countMax) {
      return;
    }
    cache.delete(key);
  }
}

/** Reads the newest ids from the file. Removes a line truncated by a crash of the writer: its batch is sent again. */
function recoverIds(path: string): Set<string> {
  if (!existsSync(path)) {
    return new Set();
  }
  truncateSync(path, sizeOfWholeLines(path));
  const start = Math.max(0, sizeOf(path) - REMEMBERED_BYTES_MAX);
  const lines = readBytes(path, start, REMEMBERED_BYTES_MAX)
    .toString('utf8')
    .split('\n')
    .slice(start === 0 ? 0 : 1, -1);
  return new Set(lines.map((line) => (JSON.parse(line) as IdentifiedLogEntry).insertId));
}

function sizeOfWholeLines(path: string): number {
  const size = sizeOf(path);
  for (let bytesMax = READ_BYTES_MAX; ; bytesMax *= 2) {
    const start = Math.max(0, size - bytesMax);
    const length = readBytes(path, start, bytesMax).lastIndexOf(NEWLINE) + 1;
    if (length > 0 || start === 0) {
      return start + length;
    }
  }
}

/** The position of the cursor; 0 for an invalid one, that is, one that is not at the end of a line. */
function positionOf(path: string, cursor: string): number {
  const position = /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
  return position > 0 && readBytes(path, position - 1, 1)[0] === NEWLINE ? position : 0;
}

/** Reads as many complete lines as fit in READ_BYTES_MAX, but at least one, however long it is. */
function readWholeLines(path: string, start: number): Buffer {
  for (let bytesMax = READ_BYTES_MAX; ; bytesMax *= 2) {
    const bytes = readBytes(path, start, bytesMax);
    const length = bytes.lastIndexOf(NEWLINE) + 1;
    if (length > 0 || bytes.length < bytesMax) {
      return bytes.subarray(0, length);
    }
  }
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

function readBytes(path: string, start: number, bytesMax: number): Buffer {
  if (!existsSync(path)) {
    return Buffer.alloc(0);
  }
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(bytesMax);
    return buffer.subarray(0, readSync(file, buffer, 0, bytesMax, start));
  } finally {
    closeSync(file);
  }
}
