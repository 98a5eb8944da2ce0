import type { Database } from '#infra/embedded/data-dir/database.ts';
import { CAPACITY_FAILURE_AGE_MS_MAX, type CapacityFailure } from '#shared/domain/capacity.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';

const FAILURES_READ_MAX = 500;

const SCHEMA = `
  create table if not exists capacity_refusals (
    machine_key text not null, provisioning_model text not null, zone text not null, refused_at integer not null
  ) strict;
  create index if not exists capacity_refusals_by_machine
    on capacity_refusals (machine_key, provisioning_model, refused_at);
`;

/** Capacity failures of zones; expired ones are deleted when new ones are recorded. */
export function openSqliteCapacityHistory(database: Database): CapacityHistory {
  const { sql } = database;
  sql.exec(SCHEMA);
  const insert = sql.prepare('insert into capacity_refusals values (?, ?, ?, ?)');
  const deleteExpired = sql.prepare('delete from capacity_refusals where refused_at < ?');
  const recall = sql.prepare(`
    select * from capacity_refusals where machine_key = ? and provisioning_model = ? and refused_at >= ?
    order by refused_at desc limit ${FAILURES_READ_MAX}`);

  return {
    async record({ machineKey, provisioningModel, zone, failedAt }) {
      database.transaction(() => {
        deleteExpired.run(failedAt - CAPACITY_FAILURE_AGE_MS_MAX);
        insert.run(machineKey, provisioningModel, zone, failedAt);
      });
    },
    async recall({ machineKey, provisioningModel, since }) {
      return recall.all(machineKey, provisioningModel, since).map(
        (row): CapacityFailure => ({
          zone: String(row.zone),
          machineKey,
          provisioningModel,
          failedAt: Number(row.refused_at),
        }),
      );
    },
  };
}
