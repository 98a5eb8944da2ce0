import { randomUUID } from 'node:crypto';
import type { BlobDirectory, StagedBlob } from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import type { ObjectChanges, WriteRejection } from '#infra/embedded/cloud-storage/store/object-changes.ts';
import type { ObjectIndex } from '#infra/embedded/cloud-storage/store/object-index.ts';
import type {
  Checksums,
  ObjectAttributes,
  Preconditions,
  StoredObject,
} from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

/** The parameters given at the start of a resumable upload; they apply when it is finished. */
export type UploadRequest = {
  readonly target: ObjectName;
  readonly attributes: ObjectAttributes;
  readonly preconditions: Preconditions;
  readonly expected: Partial<Checksums>;
};

export type UploadSession = {
  readonly uploadId: string;
  readonly request: UploadRequest;
  readonly finishedGeneration: string | null;
};

/** A resumable upload expires after a week. Source: https://cloud.google.com/storage/docs/resumable-uploads */
const UPLOAD_SESSION_AGE_MS_MAX = 7 * 86_400_000;

const SCHEMA = `
  create table if not exists upload_sessions (
    upload_id text primary key, started_at integer not null, request text not null, finished_generation text
  ) strict;
  create index if not exists upload_sessions_by_age on upload_sessions (started_at);
`;

export type UploadSessionTable = ReturnType<typeof openUploadSessionTable>;

export function openUploadSessionTable({ sql, transaction }: Database, clock: Clock) {
  sql.exec(SCHEMA);
  const statements = {
    insert: sql.prepare('insert into upload_sessions values (?, ?, ?, null)'),
    deleteAged: sql.prepare('delete from upload_sessions where started_at < ? returning upload_id'),
    find: sql.prepare('select * from upload_sessions where upload_id = ?'),
    finish: sql.prepare('update upload_sessions set finished_generation = ? where upload_id = ?'),
    delete: sql.prepare('delete from upload_sessions where upload_id = ?'),
  };

  return {
    /** Also deletes expired sessions, and returns their ids. */
    insert: (uploadId: string, request: UploadRequest): readonly string[] =>
      transaction(() => {
        const now = clock.now();
        statements.insert.run(uploadId, now, JSON.stringify(request));
        return statements.deleteAged.all(now - UPLOAD_SESSION_AGE_MS_MAX).map((row) => String(row.upload_id));
      }),
    find(uploadId: string): UploadSession | undefined {
      const row = statements.find.get(uploadId);
      if (row === undefined) {
        return undefined;
      }
      const finishedGeneration = row.finished_generation === null ? null : String(row.finished_generation);
      return { uploadId, request: JSON.parse(String(row.request)) as UploadRequest, finishedGeneration };
    },
    finish: (uploadId: string, generation: string) => void statements.finish.run(generation, uploadId),
    delete: (uploadId: string): boolean => statements.delete.run(uploadId).changes > 0,
  };
}

export type UploadChunk = {
  readonly startByte: number;
  /**
   * The size of the whole object, once the client knows it; the upload is complete when this many bytes are received.
   */
  readonly sizeBytes: number | null;
  /** The upload is complete after this chunk, whatever its size. */
  readonly isLast: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  readonly expected: Partial<Checksums>;
};

export type UploadProgress =
  | { readonly state: 'OPEN'; readonly receivedBytes: number }
  | { readonly state: 'DONE'; readonly object: StoredObject };

/**
 * BUSY: another request is writing to the session. GAP: the chunk starts after the bytes received, or the object is
 * smaller than them.
 */
export type UploadRejection = WriteRejection | 'NO_SESSION' | 'BUSY' | 'GAP';

type Context = {
  readonly table: UploadSessionTable;
  readonly index: ObjectIndex;
  readonly blobs: BlobDirectory;
  readonly changes: ObjectChanges;
};

export type UploadSessions = ReturnType<typeof openUploadSessions>;

/**
 * Resumable uploads. The bytes of a session are a staged blob with the same id, so they survive a crash of the process.
 */
export function openUploadSessions(context: Context) {
  const { table, blobs } = context;
  const staged = new Map<string, StagedBlob>();
  const busy = new Set<string>();

  /** Allows one request at a time per session; a finished session returns its outcome. */
  async function withSession(
    uploadId: string,
    work: (session: UploadSession) => Promise<UploadProgress | UploadRejection>,
  ): Promise<UploadProgress | UploadRejection> {
    const session = table.find(uploadId);
    if (session === undefined || busy.has(uploadId)) {
      return session === undefined ? 'NO_SESSION' : 'BUSY';
    }
    if (session.finishedGeneration !== null) {
      const object = context.index.find(session.request.target, session.finishedGeneration)?.object;
      return object === undefined ? 'NO_SESSION' : { state: 'DONE', object };
    }
    busy.add(uploadId);
    try {
      return await work(session);
    } finally {
      busy.delete(uploadId);
    }
  }

  return {
    async start(request: UploadRequest): Promise<string> {
      const uploadId = randomUUID();
      const expired = table.insert(uploadId, request);
      for (const expiredId of expired) {
        staged.delete(expiredId);
        await blobs.discard(expiredId);
      }
      return uploadId;
    },
    append: (uploadId: string, chunk: UploadChunk): Promise<UploadProgress | UploadRejection> =>
      withSession(uploadId, async (session) => {
        const blob = staged.get(uploadId) ?? (await blobs.stage(uploadId));
        const receivedBytes = blob.sizeBytes();
        if (chunk.startByte > receivedBytes || (chunk.sizeBytes ?? receivedBytes) < receivedBytes) {
          return 'GAP';
        }
        // Removed from the map while it changes: after an error, the file and not the memory determines what was
        // received.
        staged.delete(uploadId);
        await blob.append(skipBytes(chunk.body, receivedBytes - chunk.startByte));
        if (chunk.isLast || blob.sizeBytes() === chunk.sizeBytes) {
          return await finish(context, { session, blob, expected: chunk.expected });
        }
        staged.set(uploadId, blob);
        return { state: 'OPEN', receivedBytes: blob.sizeBytes() };
      }),
    /** Returns whether the session existed and was idle. */
    async cancel(uploadId: string): Promise<boolean> {
      const isDeleted = !busy.has(uploadId) && table.delete(uploadId);
      if (isDeleted) {
        staged.delete(uploadId);
        await blobs.discard(uploadId);
      }
      return isDeleted;
    },
  };
}

type Ending = { readonly session: UploadSession; readonly blob: StagedBlob; readonly expected: Partial<Checksums> };

/**
 * Commits the object and the end of its session in one transaction: a client that retries after a crash gets one
 * outcome.
 */
async function finish({ table, changes }: Context, { session, blob, expected }: Ending) {
  const { uploadId, request } = session;
  const sealed = await blob.seal(request.expected, expected);
  const change = { ...request, blob: sealed, componentCount: null };
  const outcome = await changes.commit(change, (committed) => {
    if (typeof committed === 'string') {
      table.delete(uploadId);
    } else {
      table.finish(uploadId, committed.generation);
    }
  });
  return typeof outcome === 'string' ? outcome : ({ state: 'DONE', object: outcome } as const);
}

async function* skipBytes(body: AsyncIterable<Uint8Array>, countBytes: number): AsyncGenerator<Uint8Array> {
  let leftBytes = countBytes;
  for await (const chunk of body) {
    const skipped = Math.min(leftBytes, chunk.length);
    leftBytes -= skipped;
    yield chunk.subarray(skipped);
  }
}
