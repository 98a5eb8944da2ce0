import type { Database } from '#infra/embedded/data-dir/database.ts';
import { SCHEMA } from '#infra/embedded/job-state/schema.ts';
import type { Effect } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import { addUsage, findExceeded, type VmUsage } from '#shared/domain/vm-limits.ts';
import { isWaiting } from '#shared/domain/waiting-order.ts';
import type { CommitOutcome, JobStore } from '#shared/ports/job-store.ts';
import {
  formatStoredEffect,
  formatStoredJob,
  parseEach,
  parseStoredEffect,
  parseStoredJob,
} from '#shared/protocol/stored-record.ts';

/** Jobs in SQLite: the job's row, the handled event and the outbox entries are committed in one transaction. */
export function openSqliteJobStore(database: Database): JobStore {
  const statements = prepareStatements(database);

  return {
    async create(job, effects) {
      return database.transaction(() => {
        const { jobId: id, createdAt: created_at } = job;
        const { changes } = statements.insert.run({
          id,
          wake_at: wakeAtOf(job),
          created_at,
          body: formatStoredJob(job),
        });
        if (changes === 0) {
          return 'EXISTS';
        }
        addToOutbox(statements, job, { cause: 'created', effects });
        return 'CREATED';
      });
    },
    async read(jobId) {
      const row = statements.read.get(jobId);
      return row === undefined ? undefined : { revision: Number(row.revision), job: parseStoredJob(String(row.body)) };
    },
    commit: async (change) => database.transaction(() => commit(statements, change)),
    readUsage: async () => readUsage(statements, null),
    listDue: async (now, countMax) =>
      statements.due.all(now, countMax).map((row) => ({ jobId: String(row.job_id), wakeAt: Number(row.wake_at) })),
    listWaiting: async (countMax) => parseEach(statements.waiting.all(countMax), jobOf).filter(isWaiting),
    listJobsWithOutbox: async (countMax) => statements.jobsWithOutbox.all(countMax).map((row) => String(row.job_id)),
    listOutbox: async (jobId) =>
      statements.outbox
        .all(jobId)
        .map((row) => ({ entryId: String(row.entry_id), effect: parseStoredEffect(String(row.body)) })),
    async markPublished(jobId, entryId) {
      statements.markPublished.run(jobId, entryId);
    },
    async list({ countMax, after = { createdAt: Number.MAX_SAFE_INTEGER, jobId: '' } }) {
      const rows = statements.list.all({ created_at: after.createdAt, job_id: after.jobId, count: countMax });
      return parseEach(rows, jobOf);
    },
  };
}

type Statements = ReturnType<typeof prepareStatements>;

function addToOutbox(
  statements: Statements,
  { jobId }: Job,
  { cause, effects }: { readonly cause: string; readonly effects: readonly Effect[] },
): void {
  effects.forEach((effect, index) => {
    statements.addToOutbox.run(jobId, `${cause}/${index}`, formatStoredEffect(effect));
  });
}

function commit(statements: Statements, change: Parameters<JobStore['commit']>[0]): CommitOutcome {
  const { expectedRevision, eventId, job, effects, usage, limits } = change;
  if (statements.isHandled.get(job.jobId, eventId) !== undefined) {
    return 'DUPLICATE';
  }
  if (usage !== undefined && limits !== undefined) {
    const added = addUsage(usage, readUsage(statements, job.jobId), -1);
    if (added.vms > 0 && findExceeded(addUsage(readUsage(statements, null), added), limits) !== null) {
      return Number(statements.read.get(job.jobId)?.revision) === expectedRevision ? 'OVER_LIMIT' : 'STALE';
    }
  }
  const { changes } = statements.update.run(wakeAtOf(job), formatStoredJob(job), job.jobId, expectedRevision);
  if (changes === 0) {
    return 'STALE';
  }
  if (usage !== undefined) {
    statements.writeUsage.run(job.jobId, usage.vms, usage.microUsdPerHour, usage.unpricedVms);
  }
  if (job.status === 'CLOSED') {
    statements.deleteUsage.run(job.jobId);
    // A closed job has no further transitions, so its handled events are no longer needed.
    statements.deleteHandled.run(job.jobId);
  } else {
    statements.insertHandled.run(job.jobId, eventId);
  }
  addToOutbox(statements, job, { cause: eventId, effects });
  return 'COMMITTED';
}

/** Reads what one job uses, or, if `jobId` is null, what all jobs use together. */
function readUsage(statements: Statements, jobId: string | null): VmUsage {
  const { vms, micro_usd_per_hour: microUsdPerHour, unpriced_vms: unpricedVms } = statements.usage.get(jobId) ?? {};
  return { vms: Number(vms), microUsdPerHour: Number(microUsdPerHour), unpricedVms: Number(unpricedVms) };
}

function jobOf({ body }: Record<string, unknown>): Job {
  return parseStoredJob(String(body));
}

function wakeAtOf(job: Job): number | null {
  return job.status === 'CLOSED' ? null : job.wakeAt;
}

function prepareStatements({ sql }: Database) {
  sql.exec(SCHEMA);
  return {
    insert: sql.prepare(`
      insert into jobs select :id, 1, :wake_at, :created_at, :body
      where not exists (select 1 from tunings where tuning_id = :id) on conflict do nothing`),
    read: sql.prepare('select revision, body from jobs where job_id = ?'),
    isHandled: sql.prepare('select 1 from handled_events where job_id = ? and event_id = ?'),
    update: sql.prepare(
      'update jobs set revision = revision + 1, wake_at = ?, body = ? where job_id = ? and revision = ?',
    ),
    writeUsage: sql.prepare('insert or replace into vm_usage values (?, ?, ?, ?)'),
    deleteUsage: sql.prepare('delete from vm_usage where job_id = ?'),
    usage: sql.prepare(`
      select total(vms) as vms, total(micro_usd_per_hour) as micro_usd_per_hour, total(unpriced_vms) as unpriced_vms
      from vm_usage where job_id = coalesce(?, job_id)`),
    deleteHandled: sql.prepare('delete from handled_events where job_id = ?'),
    insertHandled: sql.prepare('insert into handled_events values (?, ?)'),
    addToOutbox: sql.prepare('insert into owed_effects (job_id, entry_id, body) values (?, ?, ?)'),
    due: sql.prepare('select job_id, wake_at from jobs where wake_at <= ? order by wake_at limit ?'),
    waiting: sql.prepare(`
      select body from jobs
      where json_extract(body, '$.waitsFor.metric') is not null
        and json_extract(body, '$.status') in ('QUEUED', 'PREPARING')
      order by created_at, job_id limit ?`),
    jobsWithOutbox: sql.prepare('select job_id from owed_effects group by job_id order by min(position) limit ?'),
    outbox: sql.prepare('select entry_id, body from owed_effects where job_id = ? order by position'),
    markPublished: sql.prepare('delete from owed_effects where job_id = ? and entry_id = ?'),
    list: sql.prepare(`
      select body from jobs
      where json_extract(body, '$.trial.tuningId') is null
        and (created_at < :created_at or (created_at = :created_at and job_id > :job_id))
      order by created_at desc, job_id limit :count`),
  };
}
