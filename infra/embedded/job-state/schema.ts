/**
 * The tables of jobs and tunings. Both stores create all of them, since each checks that the other has no record of an
 * id that it creates: users know jobs and tunings by one kind of id.
 */
export const SCHEMA = `
  create table if not exists jobs (
    job_id text primary key, revision integer not null, wake_at integer, created_at integer not null, body text not null
  ) strict;
  create index if not exists jobs_due on jobs (wake_at) where wake_at is not null;
  drop index if exists jobs_by_age;
  create index if not exists jobs_listed on jobs (created_at desc, job_id)
    where json_extract(body, '$.trial.tuningId') is null;
  create index if not exists jobs_waiting on jobs (created_at, job_id)
    where json_extract(body, '$.waitsFor.metric') is not null;
  create table if not exists vm_usage (
    job_id text primary key, vms integer not null, micro_usd_per_hour integer not null, unpriced_vms integer not null
  ) strict, without rowid;
  create table if not exists handled_events (
    job_id text not null, event_id text not null, primary key (job_id, event_id)
  ) strict, without rowid;
  create table if not exists owed_effects (
    position integer primary key autoincrement, job_id text not null, entry_id text not null, body text not null,
    unique (job_id, entry_id)
  ) strict;
  create table if not exists tunings (
    tuning_id text primary key, revision integer not null, wake_at integer, created_at integer not null,
    body text not null
  ) strict;
  create index if not exists tunings_due on tunings (wake_at) where wake_at is not null;
  create index if not exists tunings_by_age on tunings (created_at desc, tuning_id);
  create table if not exists trials (
    tuning_id text not null, ordinal integer not null, body text not null, primary key (tuning_id, ordinal)
  ) strict, without rowid;
  create table if not exists tuning_events (
    tuning_id text not null, event_id text not null, primary key (tuning_id, event_id)
  ) strict, without rowid;
  create table if not exists tuning_outbox (
    position integer primary key autoincrement, tuning_id text not null, entry_id text not null, body text not null,
    unique (tuning_id, entry_id)
  ) strict;
`;
