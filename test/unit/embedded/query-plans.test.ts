import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteChangeFeed } from '#infra/embedded/job-state/change-feed.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import { closedJob, queuedJob } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';

/**
 * Records every statement that the stores prepare, so that the plans are those of the exact text that they run.
 * The statements themselves are SQLite's own.
 */
function recordStatements(database: Database): readonly string[] {
  const texts: string[] = [];
  const prepare = database.sql.prepare.bind(database.sql);
  database.sql.prepare = (text, ...options) => {
    texts.push(text);
    return prepare(text, ...options);
  };
  return texts;
}

describe('the cost of a reconciler tick, and of a poll', () => {
  let database: Database;
  let statements: readonly string[];

  beforeEach(() => {
    database = openDatabase(':memory:');
    statements = recordStatements(database);
  });
  afterEach(() => database.close());

  /** The plan of the one prepared statement that contains the text. */
  function planOf(part: string): string {
    const found = statements.filter((text) => text.includes(part));
    expect(found, part).toHaveLength(1);
    const rows = database.sql.prepare(`explain query plan ${found[0]}`).all();
    return rows.map(({ detail }) => detail).join('; ');
  }

  it('finds expired leases in the index of leases, before those of healthy replicas', () => {
    openSqliteReplicaStore(database);
    expect(planOf('where lease_expires_at <= ?')).toMatch(
      /^SEARCH replicas USING INDEX replicas_expired \(lease_expires_at[><=?]+( AND lease_expires_at<\?)?\)$/,
    );
  });

  it('finds the last heartbeat at the end of an index, however many replicas there are', () => {
    openSqliteReplicaStore(database);
    expect(planOf("order by json_extract(body, '$.heardAt')")).toBe('SCAN replicas USING INDEX replicas_heard');
  });

  it('finds waiting jobs in their order in an index that has no others', () => {
    openSqliteJobStore(database);
    expect(planOf("'$.status') in ('QUEUED'")).toBe('SCAN jobs USING INDEX jobs_waiting');
  });

  it('finds due jobs in the index of wake times, which has no closed jobs', () => {
    openSqliteJobStore(database);
    expect(planOf('where wake_at <= ?')).toMatch(
      /^SEARCH jobs USING INDEX jobs_due \(wake_at[><=?]+( AND wake_at<\?)?\)$/,
    );
  });

  it('finds due tunings in the index of wake times, which has no closed tunings', () => {
    openSqliteTuningStore(database);
    expect(planOf('from tunings where wake_at <= ?')).toMatch(
      /^SEARCH tunings USING INDEX tunings_due \(wake_at[><=?]+( AND wake_at<\?)?\)$/,
    );
  });

  it('lists jobs from the index of those that users submitted, without sorting', () => {
    openSqliteJobStore(database);
    expect(planOf('order by created_at desc, job_id')).toBe('SEARCH jobs USING INDEX jobs_listed (created_at<?)');
  });

  it('lists changes from their position on, however many jobs there are', () => {
    openSqliteJobStore(database);
    openSqliteReplicaStore(database);
    openSqliteChangeFeed(database);
    expect(planOf('where position > ?')).toBe('SEARCH recent_changes USING INTEGER PRIMARY KEY (rowid>?)');
    expect(planOf('where job_id = ? and position > ?')).toMatch(
      /^SEARCH recent_changes USING COVERING INDEX \S+ \(job_id=\?\)$/,
    );
    expect(planOf('max(position)')).toBe('SEARCH recent_changes');
  });

  it('pulls messages from the index of their topic, without sorting', () => {
    openSqliteMessageQueue(database, Date);
    expect(planOf('where topic = ? and deliver_at <= ?')).toMatch(
      /LIST SUBQUERY 1; SEARCH messages USING COVERING INDEX messages_due \(topic=\? AND deliver_at<\?\)$/,
    );
    expect(planOf('select min(deliver_at)')).toContain('USING COVERING INDEX messages_due (topic=?)');
  });

  it('recalls capacity failures from the index of their machine, without sorting', () => {
    openSqliteCapacityHistory(database);
    expect(planOf('order by refused_at desc')).toMatch(
      /^SEARCH capacity_refusals USING INDEX capacity_refusals_by_machine \(.*\)$/,
    );
  });

  it('has no entry for a closed job or a cleared lease in the searched indexes', async () => {
    const jobs = openSqliteJobStore(database);
    const replicas = openSqliteReplicaStore(database);
    await jobs.create(queuedJob(), []);
    await replicas.record(exampleReplica());
    const countIn = (index: string, table: string, column: string) =>
      database.sql
        .prepare(`select count(*) as number from ${table} indexed by ${index} where ${column} is not null`)
        .get()?.number;
    const count = () => [
      countIn('jobs_due', 'jobs', 'wake_at'),
      countIn('replicas_expired', 'replicas', 'lease_expires_at'),
    ];
    expect(count()).toEqual([1, 1]);
    await jobs.commit({ expectedRevision: 1, eventId: 'e1', record: closedJob(), effects: [] });
    await replicas.clearLeases('digits', 1);
    expect(count()).toEqual([0, 0]);
  });
});
