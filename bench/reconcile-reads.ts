import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import type { JobIn } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { noLog } from '../test/support/collected-log.ts';
import { jobAfter, queuedJob } from '../test/support/domain/example-job.ts';
import { exampleReplica } from '../test/support/domain/example-replica.ts';
import { withUpdates } from '../test/support/use-cases/updates.ts';
import type { BenchRow } from './bench-row.ts';

const REPLICAS = 10_000;
const TICKS = 500;
const TIME_RATIO_MAX = 2;

/**
 * The example replicas sent their last heartbeat at 0; at this time, none of their leases and deadlines has expired.
 */
const NOW = 60_000;

type Tick = {
  /** The documents that Firestore bills: one per document, and one for a query without results. */
  readonly reads: number;
  /** Steps of SQLite's query plans that scan a whole table of jobs or replicas. */
  readonly scans: readonly string[];
  readonly medianMs: number;
};

/** Compares a reconcile tick with 10,000 healthy replicas, each of its own running job, with a tick without any. */
export async function benchReconcileReads(): Promise<BenchRow[]> {
  const busy = await measureTick(REPLICAS);
  const idle = await measureTick(0);
  const timeRatio = busy.medianMs / idle.medianMs;
  return [
    {
      name: `reconcile tick, ${REPLICAS} healthy replicas (floor: none): reads`,
      measured: [`${busy.reads} reads`, ...busy.scans].join(', '),
      floor: [`${idle.reads} reads`, ...idle.scans].join(', '),
      ratio: busy.reads / idle.reads,
      goal: 'reads = 1',
      isMet: busy.reads === idle.reads && busy.scans.length === 0,
    },
    {
      name: `reconcile tick, ${REPLICAS} healthy replicas (floor: none): time`,
      measured: `${(busy.medianMs * 1_000).toFixed(0)} us`,
      floor: `${(idle.medianMs * 1_000).toFixed(0)} us`,
      ratio: timeRatio,
      goal: `time <= ${TIME_RATIO_MAX}`,
      isMet: timeRatio <= TIME_RATIO_MAX,
    },
  ];
}

async function measureTick(replicas: number): Promise<Tick> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  const database = openDatabase(join(directory, 'dropforge.db'));
  try {
    const queries = recordQueries(database);
    const ports = withUpdates({
      jobs: openSqliteJobStore(database),
      replicas: openSqliteReplicaStore(database),
      tunings: openSqliteTuningStore(database),
      bus: openSqliteMessageQueue(database, { now: () => NOW }),
      timeouts: TIMEOUTS,
      logger: noLog,
    });
    await fill(ports, replicas);
    queries.length = 0;
    await reconcile(ports, NOW);
    const reads = queries.reduce((sum, { rows }) => sum + Math.max(1, rows), 0);
    const scans = queries.flatMap(({ text }) => findScans(database, text));
    return { reads, scans, medianMs: await timeTicks(() => reconcile(ports, NOW)) };
  } finally {
    database.close();
    await rm(directory, { recursive: true });
  }
}

type Query = { readonly text: string; readonly rows: number };

/** Records the queries from now on, with the number of rows they return. */
function recordQueries({ sql }: Database): Query[] {
  const queries: Query[] = [];
  const prepare = sql.prepare.bind(sql);
  sql.prepare = (text) => {
    const statement = prepare(text);
    const [all, get] = [statement.all.bind(statement), statement.get.bind(statement)];
    return Object.assign(statement, {
      all(...parameters: Parameters<typeof all>) {
        const rows = all(...parameters);
        queries.push({ text, rows: rows.length });
        return rows;
      },
      get(...parameters: Parameters<typeof get>) {
        const row = get(...parameters);
        queries.push({ text, rows: row === undefined ? 0 : 1 });
        return row;
      },
    });
  };
  return queries;
}

async function fill(ports: Pick<Parameters<typeof reconcile>[0], 'jobs' | 'replicas'>, count: number): Promise<void> {
  const running = jobAfter(
    queuedJob(),
    ['PLACEMENT_CHOSEN', 0],
    ['VMS_CREATED', 0],
    ['REPLICA_STARTED', 0],
  ) as JobIn<'RUNNING'>;
  for (let index = 0; index < count; index += 1) {
    const jobId = `job_${index}`;
    // Distinct wake times, as in production.
    await ports.jobs.create({ ...running, jobId, createdAt: index, wakeAt: NOW + 1 + index }, []);
    const replica = { ...exampleReplica(), jobId, instanceId: String(index), leaseExpiresAt: NOW + 1 + index };
    await ports.replicas.record(replica);
  }
}

/**
 * Returns the scans of the jobs and replicas tables. Scans of other tables are allowed: those hold pending work only.
 */
function findScans({ sql }: Database, text: string): readonly string[] {
  const parameters = Array.from(text.matchAll(/\?/g), () => 0);
  const plan = sql.prepare(`explain query plan ${text}`).all(...parameters);
  return plan.map(({ detail }) => String(detail)).filter((detail) => /^SCAN (jobs|replicas)\b/.test(detail));
}

async function timeTicks(tick: () => Promise<void>): Promise<number> {
  const timesMs: number[] = [];
  for (let count = 0; count < TICKS; count += 1) {
    const startedAt = performance.now();
    await tick();
    timesMs.push(performance.now() - startedAt);
  }
  return timesMs.sort((a, b) => a - b)[TICKS / 2] ?? Number.NaN;
}
