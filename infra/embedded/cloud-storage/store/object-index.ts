import type { StoredBucket, StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

/** A generation of an object, and the blob that holds its bytes; copies share a blob. */
export type IndexedObject = { readonly object: StoredObject; readonly blobId: string };

/** A new generation, without the fields that the index assigns. */
export type NewObject = {
  readonly blobId: string;
  readonly object: Omit<StoredObject, 'generation' | 'metageneration' | 'createdAt' | 'updatedAt' | 'noncurrentAt'>;
};

export type ScanQuery = {
  readonly bucket: string;
  readonly prefix: string;
  /** Rows after this name and generation, in byte order of the names. */
  readonly after: ScanPosition;
  readonly startOffset?: string | undefined;
  readonly endOffset?: string | undefined;
  readonly isWithNoncurrent?: boolean;
};

export type ScanPosition = { readonly name: string; readonly generation: number };

/** The newest noncurrent generations kept per object; a manifest may still reference them. */
export const NONCURRENT_GENERATIONS_MAX = 10;

/**
 * Manifests are small, and written more often than the files that change rarely: a job that goes back to an earlier
 * checkpoint finds it by them.
 */
const NONCURRENT_MANIFESTS_MAX = 1_000;
const MANIFEST_NAME = /(?:^|\/)dropforge-manifest\.json$/;

/**
 * A noncurrent generation older than a day is deleted with the next change in the store, so that deletions free disk
 * space.
 */
export const NONCURRENT_AGE_MS_MAX = 86_400_000;

const SCHEMA = `
  create table if not exists buckets (name text primary key, created_at integer not null) strict, without rowid;
  create table if not exists objects (
    generation integer primary key autoincrement, bucket text not null, name text not null, blob_id text not null,
    noncurrent_at integer, body text not null
  ) strict;
  create index if not exists objects_by_name on objects (bucket, name, generation);
  create unique index if not exists objects_live on objects (bucket, name) where noncurrent_at is null;
  create index if not exists objects_noncurrent on objects (noncurrent_at) where noncurrent_at is not null;
  create index if not exists objects_by_blob on objects (blob_id);
`;

const MEASURE = `
  select coalesce(sum(size), 0) as size, coalesce(sum(iif(is_live, 0, size)), 0) as noncurrent from (
    select max(json_extract(body, '$.sizeBytes')) as size, max(noncurrent_at is null) as is_live
    from objects group by blob_id
  )`;

const SCAN = `select * from objects where bucket = :bucket and (name, generation) > (:name, :generation) and name < :before`;

/** SQLite sorts blobs after all text. */
const AFTER_ALL_NAMES = Buffer.from([0xff]);

export type ObjectIndex = ReturnType<typeof openObjectIndex>;

/** The index of buckets and objects. All calls are synchronous; callers that change several rows open a transaction. */
export function openObjectIndex({ sql }: Database) {
  sql.exec(SCHEMA);
  const statements = prepareStatements(sql);

  /** Generations are microseconds since the epoch, as in Cloud Storage, and are never reused, even after a deletion. */
  function insert({ object, blobId }: NewObject, at: number): IndexedObject {
    const newest = Number(statements.newest.get()?.seq ?? 0);
    const generation = Math.max(at * 1_000, newest + 1);
    const body = JSON.stringify({ ...object, metageneration: 1, createdAt: at, updatedAt: at });
    statements.insert.run(generation, object.bucket, object.name, blobId, body);
    return toIndexedObject({ generation, blob_id: blobId, noncurrent_at: null, body });
  }

  function prune({ bucket, name }: ObjectName, at: number): readonly string[] {
    const countMax = MANIFEST_NAME.test(name) ? NONCURRENT_MANIFESTS_MAX : NONCURRENT_GENERATIONS_MAX;
    const surplus = statements.deleteSurplus.all(bucket, name, countMax);
    const aged = statements.deleteAged.all(at - NONCURRENT_AGE_MS_MAX);
    return [...surplus, ...aged].map((row) => String(row.blob_id));
  }

  return {
    insert,
    prune,
    insertBucket: (name: string, at: number): boolean => statements.insertBucket.run(name, at).changes > 0,
    findBucket: (name: string): StoredBucket | undefined => toBucket(statements.findBucket.get(name)),
    listBuckets: (): readonly StoredBucket[] => statements.listBuckets.all().flatMap((row) => toBucket(row) ?? []),
    hasLiveObjects: (bucket: string): boolean => statements.isInUse.get(bucket) !== undefined,
    /** Also deletes the noncurrent generations; returns the blobs of everything deleted. */
    deleteBucket(name: string): readonly string[] {
      statements.deleteBucket.run(name);
      return statements.deleteAll.all(name).map((row) => String(row.blob_id));
    },
    find({ bucket, name }: ObjectName, generation?: string): IndexedObject | undefined {
      const row =
        generation === undefined ? statements.live.get(bucket, name) : statements.exact.get(bucket, name, generation);
      return row === undefined ? undefined : toIndexedObject(row);
    },
    retire: ({ generation }: StoredObject, at: number) => void statements.retire.run(at, Number(generation)),
    delete: ({ generation }: StoredObject): readonly string[] =>
      statements.delete.all(Number(generation)).map((row) => String(row.blob_id)),
    update(object: StoredObject): void {
      const { generation, noncurrentAt, ...body } = object;
      statements.update.run(JSON.stringify(body), Number(generation));
    },
    /** Bytes on disk, counting each blob once; blobs that only noncurrent generations use are counted separately. */
    measure: () => toUsage(statements.measure.get()),
    isReferenced: (blobId: string): boolean => statements.isReferenced.get(blobId) !== undefined,
    *scan({ bucket, prefix, after, startOffset = '', endOffset, isWithNoncurrent = false }: ScanQuery) {
      const statement = isWithNoncurrent ? statements.scanAll : statements.scanLive;
      const first = compareBytes(prefix, startOffset) > 0 ? prefix : startOffset;
      const start = compareBytes(first, after.name) > 0 ? { name: first, generation: -1 } : after;
      const [before = AFTER_ALL_NAMES] = [findPrefixEnd(prefix), endOffset]
        .filter((end) => end !== undefined)
        .sort(compareBytes);
      for (const row of statement.iterate({ bucket, ...start, before })) {
        yield toIndexedObject(row).object;
      }
    },
  };
}

function toUsage(row: Readonly<Record<string, unknown>> | undefined) {
  return { sizeBytes: Number(row?.size ?? 0), noncurrentBytes: Number(row?.noncurrent ?? 0) };
}

function prepareStatements(sql: Database['sql']) {
  return {
    measure: sql.prepare(MEASURE),
    insertBucket: sql.prepare('insert into buckets values (?, ?) on conflict do nothing'),
    findBucket: sql.prepare('select * from buckets where name = ?'),
    listBuckets: sql.prepare('select * from buckets order by name'),
    deleteBucket: sql.prepare('delete from buckets where name = ?'),
    isInUse: sql.prepare('select 1 from objects where bucket = ? and noncurrent_at is null limit 1'),
    newest: sql.prepare(`select seq from sqlite_sequence where name = 'objects'`),
    insert: sql.prepare('insert into objects values (?, ?, ?, ?, null, ?)'),
    live: sql.prepare('select * from objects where bucket = ? and name = ? and noncurrent_at is null'),
    exact: sql.prepare('select * from objects where bucket = ? and name = ? and cast(generation as text) = ?'),
    retire: sql.prepare('update objects set noncurrent_at = ? where generation = ?'),
    update: sql.prepare('update objects set body = ? where generation = ?'),
    delete: sql.prepare('delete from objects where generation = ? returning blob_id'),
    deleteAll: sql.prepare('delete from objects where bucket = ? returning blob_id'),
    deleteSurplus: sql.prepare(`delete from objects where generation in (select generation from objects
      where bucket = ? and name = ? and noncurrent_at is not null
        order by generation desc limit -1 offset ?
      ) returning blob_id`),
    deleteAged: sql.prepare('delete from objects where noncurrent_at < ? returning blob_id'),
    isReferenced: sql.prepare('select 1 from objects where blob_id = ? limit 1'),
    scanLive: sql.prepare(`${SCAN} and noncurrent_at is null order by name, generation`),
    scanAll: sql.prepare(`${SCAN} order by name, generation`),
  };
}

/** The byte order of UTF-8, as Cloud Storage and SQLite use it; JavaScript compares UTF-16 code units. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The smallest string greater than every string with this prefix, in UTF-8 order; undefined if there is none. */
export function findPrefixEnd(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) {
    points.pop();
  }
  const last = points.pop();
  if (last === undefined) {
    return undefined;
  }
  const next = last === 0xd7ff ? 0xe000 : last + 1;
  return String.fromCodePoint(...points, next);
}

function toIndexedObject(row: Record<string, unknown>): IndexedObject {
  const stored = JSON.parse(String(row.body)) as Omit<StoredObject, 'generation' | 'noncurrentAt'>;
  // Objects stored by earlier versions have no storage class and no custom time.
  const body = { ...stored, storageClass: stored.storageClass ?? 'STANDARD', customTime: stored.customTime ?? null };
  const noncurrentAt = row.noncurrent_at === null ? null : Number(row.noncurrent_at);
  return { blobId: String(row.blob_id), object: { ...body, generation: String(row.generation), noncurrentAt } };
}

function toBucket(row: Record<string, unknown> | undefined): StoredBucket | undefined {
  return row === undefined ? undefined : { name: String(row.name), createdAt: Number(row.created_at) };
}
