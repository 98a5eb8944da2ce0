import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { parseEach, parseStoredReplica } from '#shared/protocol/stored-record.ts';

const SCHEMA = `
  create table if not exists replicas (
    job_id text not null, attempt integer not null, replica text not null, instance_id text not null,
    sequence integer not null, has_exited integer not null, lease_expires_at integer, body text not null,
    primary key (job_id, attempt, replica)
  ) strict, without rowid;
  create index if not exists replicas_expired on replicas (lease_expires_at) where lease_expires_at is not null;
  create index if not exists replicas_heard on replicas (json_extract(body, '$.heardAt')) where sequence > 0;
  create index if not exists replicas_by_instance on replicas (instance_id);
`;

/** The last heartbeat of each replica, one row per replica and attempt. */
export function openSqliteReplicaStore(database: Database): ReplicaStore {
  const { sql } = database;
  sql.exec(SCHEMA);
  const statements = {
    record: sql.prepare(`
      insert into replicas values (:job_id, :attempt, :replica, :instance_id, :sequence, :has_exited, :lease, :body)
      on conflict do update set instance_id = excluded.instance_id, sequence = excluded.sequence,
        has_exited = excluded.has_exited, lease_expires_at = excluded.lease_expires_at, body = excluded.body
      where not (replicas.instance_id = excluded.instance_id
        and (replicas.sequence > excluded.sequence or (replicas.has_exited and not excluded.has_exited)))`),
    expired: sql.prepare('select body from replicas where lease_expires_at <= ? order by lease_expires_at limit ?'),
    latestHeartbeat: sql.prepare(`
      select json_extract(body, '$.heardAt') as heartbeat_at from replicas where sequence > 0
      order by json_extract(body, '$.heardAt') desc limit 1`),
    byInstance: sql.prepare('select body from replicas where instance_id = ?'),
    byAttempt: sql.prepare('select body from replicas where job_id = ? and attempt = ? order by replica'),
    clear: sql.prepare(`
      update replicas set lease_expires_at = null, body = json_set(body, '$.leaseExpiresAt', null)
      where job_id = ? and attempt <= ? and lease_expires_at is not null`),
  };

  return {
    async record(replica) {
      const { changes } = statements.record.run({
        job_id: replica.jobId,
        attempt: replica.attempt,
        replica: replica.replica,
        instance_id: replica.instanceId,
        sequence: replica.sequence,
        has_exited: replica.exit === null ? 0 : 1,
        lease: replica.leaseExpiresAt,
        body: JSON.stringify(replica),
      });
      return changes === 0 ? 'OUTDATED' : 'RECORDED';
    },
    listExpired: async (now, countMax) => parseEach(statements.expired.all(now, countMax), parseReplica),
    async lastHeartbeatAt() {
      const row = statements.latestHeartbeat.get();
      return row === undefined ? undefined : Number(row.heartbeat_at);
    },
    async findByInstance(instanceId) {
      const row = statements.byInstance.get(instanceId);
      return row === undefined ? undefined : parseReplica(row);
    },
    listByAttempt: async ({ jobId, attempt }) => statements.byAttempt.all(jobId, attempt).map(parseReplica),
    async clearLeases(jobId, attempt) {
      statements.clear.run(jobId, attempt);
    },
  };
}

function parseReplica(row: Record<string, unknown>): Replica {
  return parseStoredReplica(String(row.body));
}
