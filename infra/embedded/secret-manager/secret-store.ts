import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** Secret Manager's limit for a version (docs, "Quotas and limits"). */
export const SECRET_BYTES_MAX = 65_536;

export const SECRETS_COUNT_MAX = 1_000;
/** Limit per secret. */
export const VERSIONS_COUNT_MAX = 100;

export type StoredSecret = { readonly name: string; readonly createdAt: number };
export type StoredVersion = { readonly name: string; readonly version: number; readonly createdAt: number };

const SCHEMA = `
  create table if not exists secrets (name text primary key, created_at integer not null) strict, without rowid;
  create table if not exists secret_versions (
    name text not null, version integer not null, data blob not null, created_at integer not null,
    primary key (name, version)
  ) strict, without rowid;
`;

type Row = Readonly<Record<string, unknown>>;

export type SecretStore = ReturnType<typeof openSqliteSecretStore>;

/** The secrets of the embedded cloud. They are stored unencrypted in its database. */
export function openSqliteSecretStore(database: Database, clock: Clock) {
  const { sql } = database;
  sql.exec(SCHEMA);
  const statements = {
    insert: sql.prepare('insert into secrets values (?, ?)'),
    find: sql.prepare('select * from secrets where name = ?'),
    list: sql.prepare('select * from secrets order by name'),
    insertVersion: sql.prepare('insert into secret_versions values (?, ?, ?, ?)'),
    versions: sql.prepare('select name, version, created_at from secret_versions where name = ? order by version desc'),
    access: sql.prepare('select * from secret_versions where name = ? and version = ?'),
    deleteVersions: sql.prepare('delete from secret_versions where name = ?'),
    delete: sql.prepare('delete from secrets where name = ?'),
  };
  /** The versions of a secret, newest first; empty if there is no such secret. */
  const listVersions = (name: string): readonly StoredVersion[] => statements.versions.all(name).map(toVersion);

  return {
    create: (name: string) =>
      database.transaction((): 'CREATED' | 'EXISTS' | 'TOO_MANY' => {
        if (statements.find.get(name) !== undefined) {
          return 'EXISTS';
        }
        if (statements.list.all().length >= SECRETS_COUNT_MAX) {
          return 'TOO_MANY';
        }
        statements.insert.run(name, clock.now());
        return 'CREATED';
      }),
    addVersion: (name: string, data: Uint8Array) =>
      database.transaction((): StoredVersion | 'NO_SECRET' | 'TOO_MANY' => {
        const versions = listVersions(name);
        if (statements.find.get(name) === undefined) {
          return 'NO_SECRET';
        }
        if (versions.length >= VERSIONS_COUNT_MAX) {
          return 'TOO_MANY';
        }
        const added = { name, version: (versions[0]?.version ?? 0) + 1, createdAt: clock.now() };
        statements.insertVersion.run(name, added.version, data, added.createdAt);
        return added;
      }),
    find(name: string): StoredSecret | undefined {
      const row = statements.find.get(name);
      return row && toSecret(row);
    },
    /** All secrets, ordered by name. */
    list: () => statements.list.all().map(toSecret),
    listVersions,
    /** A version and its value, by its number or `latest`. */
    access(name: string, version: string): (StoredVersion & { readonly data: Uint8Array }) | undefined {
      const number = version === 'latest' ? listVersions(name)[0]?.version : Number(version);
      const row = Number.isSafeInteger(number) ? statements.access.get(name, number ?? 0) : undefined;
      return row && { ...toVersion(row), data: row.data as Uint8Array };
    },
    /** Deletes a secret and all of its versions; returns false if it does not exist. */
    delete: (name: string): boolean =>
      database.transaction(() => {
        statements.deleteVersions.run(name);
        return statements.delete.run(name).changes > 0;
      }),
  };
}

function toSecret(row: Row): StoredSecret {
  return { name: String(row.name), createdAt: Number(row.created_at) };
}

function toVersion(row: Row): StoredVersion {
  return { ...toSecret(row), version: Number(row.version) };
}
