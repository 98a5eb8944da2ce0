import type { Database } from '#infra/embedded/data-dir/database.ts';
import { openSqliteRecordStore } from '#infra/embedded/job-state/record-store.ts';
import { JOB_TABLES, TUNING_TABLES } from '#infra/embedded/job-state/schema.ts';
import type { Job } from '#shared/domain/job.ts';
import { addUsage, findExceeded, type VmUsage } from '#shared/domain/vm-limits.ts';
import { isWaiting } from '#shared/domain/waiting-order.ts';
import type { JobFacts, JobStore } from '#shared/ports/job-store.ts';
import { JOB_FORM, parseEach } from '#shared/protocol/stored-record.ts';

/** Jobs in SQLite, with a row for what each of them uses. */
export function openSqliteJobStore(database: Database): JobStore {
  const records = openSqliteRecordStore(database, {
    form: JOB_FORM,
    tables: JOB_TABLES,
    sharesIdsWith: [TUNING_TABLES],
    commitFacts,
  });
  const statements = prepareStatements(database);

  function commitFacts({ record: job, usage, limits }: JobFacts & { readonly record: Job }): 'OVER_LIMIT' | undefined {
    if (usage !== undefined && limits !== undefined) {
      const added = addUsage(usage, readUsage(statements, job.jobId), -1);
      if (added.vms > 0 && findExceeded(addUsage(readUsage(statements, null), added), limits) !== null) {
        return 'OVER_LIMIT';
      }
    }
    if (job.status === 'CLOSED') {
      statements.deleteUsage.run(job.jobId);
    } else if (usage !== undefined) {
      statements.writeUsage.run(job.jobId, usage.vms, usage.microUsdPerHour, usage.unpricedVms);
    }
    return undefined;
  }

  return {
    ...records,
    readUsage: async () => readUsage(statements, null),
    listWaiting: async (countMax) =>
      parseEach(statements.waiting.all(countMax), ({ body }) => JOB_FORM.parse(String(body))).filter(isWaiting),
  };
}

/** Reads what one job uses, or, if `jobId` is null, what all jobs use together. */
function readUsage({ usage }: ReturnType<typeof prepareStatements>, jobId: string | null): VmUsage {
  const { vms, micro_usd_per_hour: microUsdPerHour, unpriced_vms: unpricedVms } = usage.get(jobId) ?? {};
  return { vms: Number(vms), microUsdPerHour: Number(microUsdPerHour), unpricedVms: Number(unpricedVms) };
}

function prepareStatements({ sql }: Database) {
  return {
    writeUsage: sql.prepare('insert or replace into vm_usage values (?, ?, ?, ?)'),
    deleteUsage: sql.prepare('delete from vm_usage where job_id = ?'),
    usage: sql.prepare(`
      select total(vms) as vms, total(micro_usd_per_hour) as micro_usd_per_hour, total(unpriced_vms) as unpriced_vms
      from vm_usage where job_id = coalesce(?, job_id)`),
    waiting: sql.prepare(`
      select body from jobs
      where json_extract(body, '$.waitsFor.metric') is not null
        and json_extract(body, '$.status') in ('QUEUED', 'PREPARING')
      order by created_at, job_id limit ?`),
  };
}
