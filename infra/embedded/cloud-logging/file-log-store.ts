import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEntry, LogStore } from '#shared/ports/log-store.ts';

/** An entry with the id that makes writing it twice writing it once, as Cloud Logging's `insertId` does. */
export type IdentifiedLogEntry = LogEntry & { readonly insertId: string };

export type FileLogStore = LogStore & {
  /** Appends the entries that are new to the logs of their jobs. */
  append(entries: readonly IdentifiedLogEntry[]): void;
  /** A job's entries with their ids, in the order in which they came; at most so many. */
  listIdentified(jobId: string, countMax: number): readonly IdentifiedLogEntry[];
};

/** One job's log file; what comes after is dropped, with a last line that says so. */
const LOG_FILE_BYTES_MAX = 512 * 2 ** 20;
const READ_BYTES_MAX = 2 ** 20;
/** Repeats come within seconds of the first try: this many ids are remembered a job, across restarts of the cloud. */
const REMEMBERED_IDS_MAX = 20_000;
const REMEMBERED_BYTES_MAX = 4 * 2 ** 20;
/** The ids of jobs that have not logged for longest are read from their files again when they do. */
const REMEMBERED_JOBS_MAX = 50;
const NEWLINE = 0x0a;

/** Logs as JSON lines, one file a job; a cursor is a position in its file. */
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
    // Known again only when the write is done: after one that failed, the file is looked at anew.
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
    forgetOldest(ids, REMEMBERED_IDS_MAX);
    forgetOldest(seenIds, REMEMBERED_JOBS_MAX);
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
    async read({ jobId, cursor, countMax }) {
      const start = positionOf(pathOf(jobId), cursor);
      const lines = readWholeLines(pathOf(jobId), start).toString('utf8').split('\n').slice(0, -1).slice(0, countMax);
      const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
      return { entries: lines.map(parseEntry), cursor: String(start + bytes) };
    },
  };
}

function limitNotice(first: IdentifiedLogEntry, fileBytesMax: number): string {
  const text = `The log has reached its limit of ${fileBytesMax} bytes; what follows is not kept.`;
  const notice: IdentifiedLogEntry = { ...first, insertId: 'limit', text, severity: 'WARNING', stream: 'agent' };
  return `${JSON.stringify(notice)}\n`;
}

function parseEntry(line: string): LogEntry {
  const { insertId: _, ...entry } = JSON.parse(line) as IdentifiedLogEntry;
  return entry;
}

function forgetOldest(remembered: Set<string> | Map<string, unknown>, countMax: number): void {
  for (const key of remembered.keys()) {
    if (remembered.size <= countMax) {
      return;
    }
    remembered.delete(key);
  }
}

/** The newest ids in the file. A line that the death of the writer has cut short is removed: its batch comes again. */
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

/** Where the cursor points to; one that was never given out is no line's end, and begins at the start. */
function positionOf(path: string, cursor: string): number {
  const position = /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
  return position > 0 && readBytes(path, position - 1, 1)[0] === NEWLINE ? position : 0;
}

/** As many lines as fit in READ_BYTES_MAX, and one at least, however long it is. */
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
