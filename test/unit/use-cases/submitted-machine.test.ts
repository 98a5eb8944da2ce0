import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { Job } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { publishOutbox } from '#shared/machine/machine.ts';
import { type EventPorts, handleJobEvent, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { collectLog, type LogLine } from '../../support/collected-log.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { withUpdates } from '../../support/use-cases/updates.ts';

/** A creation time that is stored as it is, and that no date can express: no view of the job can be rendered. */
const NO_DATE = Number.MAX_SAFE_INTEGER;

let database: Database;
let lines: LogLine[];
let published: (readonly [string, object])[];
let ports: EventPorts;

beforeEach(() => {
  database = openDatabase(':memory:');
  const log = collectLog();
  lines = log.lines;
  published = [];
  ports = withUpdates({
    jobs: openSqliteJobStore(database),
    tunings: openSqliteTuningStore(database),
    bus: { publish: async (topic, data) => String(published.push([topic, data])) },
    timeouts: TIMEOUTS,
    logger: log.logger,
  });
});

afterEach(() => database.close());

const unrenderable = <Item extends Job>(job: Item): Item => ({ ...job, createdAt: NO_DATE });

it('provisions a job whose update cannot be rendered, and announces its state without a snapshot', async () => {
  await ports.jobs.create(unrenderable(queuedJob()), [
    { type: 'JOB_UPDATE', jobId: 'digits', state: 'QUEUED', attempt: 1 },
    { type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 1 },
  ]);
  await publishOutbox(jobMachine(ports), 'digits');
  expect(published).toEqual([
    ['job-updates', expect.objectContaining({ jobId: 'digits', state: 'QUEUED', job: null })],
    ['provision', expect.objectContaining({ jobId: 'digits', attempt: 1 })],
  ]);
  expect(await ports.jobs.listOutbox('digits')).toEqual([]);
});

it('tears down a job whose update cannot be rendered, and logs the defect once', async () => {
  const running = jobAfter(
    queuedJob(),
    ['PLACEMENT_CHOSEN', 1_000],
    ['VMS_CREATED', 2_000],
    ['REPLICA_STARTED', 3_000],
  );
  await ports.jobs.create(unrenderable(running), []);
  const job = await handleJobEvent(ports, eventsFor(running, 4_000).CANCEL_REQUESTED);
  expect(job?.status).toBe('CLOSING');
  expect(published.map(([topic]) => topic).sort()).toEqual(['job-updates', 'teardown']);
  expect(lines.filter(({ severity }) => severity === 'ERROR')).toEqual([
    expect.objectContaining({ problem: 'Invalid time value', stack_trace: expect.stringContaining('viewCommon') }),
  ]);
  expect(await ports.jobs.listOutbox('digits')).toEqual([]);
});
