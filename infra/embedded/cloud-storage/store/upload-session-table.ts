import type { Checksums, ObjectAttributes, Preconditions } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

/** What was said at the start of a resumable upload, and holds at its end. */
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

/** Cloud Storage forgets a resumable upload after a week. Source: https://cloud.google.com/storage/docs/resumable-uploads */
export const UPLOAD_SESSION_AGE_MS_MAX = 7 * 86_400_000;

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
    /** Also forgets the sessions that are too old, and returns their ids. */
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
