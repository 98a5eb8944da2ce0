/** Where one kind of record is stored: its tables, which have this column for the id of the record. */
export type RecordTables = {
  readonly records: string;
  readonly idColumn: string;
  readonly handledEvents: string;
  readonly outbox: string;
  /** Tables and indexes that only this kind has, among them the index of its list. */
  readonly more: string;
  /** The condition on `body` that a listed record fulfills. */
  readonly isListed: string;
};

/** The tables keep the names under which existing databases store them. */
export const JOB_TABLES: RecordTables = {
  records: 'jobs',
  idColumn: 'job_id',
  handledEvents: 'handled_events',
  outbox: 'owed_effects',
  more: `
    drop index if exists jobs_by_age;
    create index if not exists jobs_listed on jobs (created_at desc, job_id)
      where json_extract(body, '$.trial.tuningId') is null;
    create index if not exists jobs_waiting on jobs (created_at, job_id)
      where json_extract(body, '$.waitsFor.metric') is not null;
    create table if not exists vm_usage (
      job_id text primary key, vms integer not null, micro_usd_per_hour integer not null, unpriced_vms integer not null
    ) strict, without rowid;`,
  isListed: "json_extract(body, '$.trial.tuningId') is null",
};

export const TUNING_TABLES: RecordTables = {
  records: 'tunings',
  idColumn: 'tuning_id',
  handledEvents: 'tuning_events',
  outbox: 'tuning_outbox',
  more: `
    create index if not exists tunings_by_age on tunings (created_at desc, tuning_id);
    create table if not exists trials (
      tuning_id text not null, ordinal integer not null, body text not null, primary key (tuning_id, ordinal)
    ) strict, without rowid;`,
  isListed: 'true',
};

/** The statements that create the tables of one kind of record, where they do not exist. */
export function schemaOf({ records, idColumn, handledEvents, outbox, more }: RecordTables): string {
  return `
    create table if not exists ${records} (
      ${idColumn} text primary key, revision integer not null, wake_at integer, created_at integer not null,
      body text not null
    ) strict;
    create index if not exists ${records}_due on ${records} (wake_at) where wake_at is not null;
    create table if not exists ${handledEvents} (
      ${idColumn} text not null, event_id text not null, primary key (${idColumn}, event_id)
    ) strict, without rowid;
    create table if not exists ${outbox} (
      position integer primary key autoincrement, ${idColumn} text not null, entry_id text not null, body text not null,
      unique (${idColumn}, entry_id)
    ) strict;
    ${more}`;
}
