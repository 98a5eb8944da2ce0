import { randomUUID } from 'node:crypto';
import type { BlobDirectory, StagedBlob } from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import type { ObjectChanges, WriteRefusal } from '#infra/embedded/cloud-storage/store/object-changes.ts';
import type { ObjectIndex } from '#infra/embedded/cloud-storage/store/object-index.ts';
import type { Checksums, StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type {
  UploadRequest,
  UploadSession,
  UploadSessionTable,
} from '#infra/embedded/cloud-storage/store/upload-session-table.ts';

export type UploadChunk = {
  readonly startByte: number;
  /** The size of the whole object, once the client knows it; the upload ends when so many bytes are there. */
  readonly sizeBytes: number | null;
  /** The upload ends with this chunk, whatever its size. */
  readonly isLast: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  readonly expected: Partial<Checksums>;
};

export type UploadProgress =
  | { readonly state: 'OPEN'; readonly receivedBytes: number }
  | { readonly state: 'DONE'; readonly object: StoredObject };

/** BUSY: another request is writing to the session. GAP: the chunk begins after, or the object ends before, what is there. */
export type UploadRefusal = WriteRefusal | 'NO_SESSION' | 'BUSY' | 'GAP';

type Context = {
  readonly table: UploadSessionTable;
  readonly index: ObjectIndex;
  readonly blobs: BlobDirectory;
  readonly changes: ObjectChanges;
};

export type UploadSessions = ReturnType<typeof openUploadSessions>;

/** Resumable uploads. The bytes of a session are a staged blob of the same id, so they survive the death of the process. */
export function openUploadSessions(context: Context) {
  const { table, blobs } = context;
  const staged = new Map<string, StagedBlob>();
  const busy = new Set<string>();

  /** One request at a time works on a session; a finished one only says what came of it. */
  async function withSession(
    uploadId: string,
    work: (session: UploadSession) => Promise<UploadProgress | UploadRefusal>,
  ): Promise<UploadProgress | UploadRefusal> {
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
    append: (uploadId: string, chunk: UploadChunk): Promise<UploadProgress | UploadRefusal> =>
      withSession(uploadId, async (session) => {
        const blob = staged.get(uploadId) ?? (await blobs.stage(uploadId));
        const receivedBytes = blob.sizeBytes();
        if (chunk.startByte > receivedBytes || (chunk.sizeBytes ?? receivedBytes) < receivedBytes) {
          return 'GAP';
        }
        // Out of the map while it changes: after an error the file, not the memory, says what was received.
        staged.delete(uploadId);
        await blob.append(skipBytes(chunk.body, receivedBytes - chunk.startByte));
        if (chunk.isLast || blob.sizeBytes() === chunk.sizeBytes) {
          return await finish(context, { session, blob, expected: chunk.expected });
        }
        staged.set(uploadId, blob);
        return { state: 'OPEN', receivedBytes: blob.sizeBytes() };
      }),
    /** Whether there was one. */
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

/** The object and the end of its session are one transaction: a client that asks again after a crash gets one answer. */
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
