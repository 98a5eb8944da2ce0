import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { jobUpdateOf } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import type { NotifySpec } from '#shared/domain/notification.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { type ChoicePorts, chooseNotification } from '#shared/use-cases/notify/choose-notification.ts';
import { messageOfUpdate } from '#shared/views/job-update.ts';
import { jobAfter, queuedJob } from '../../../support/domain/example-job.ts';
import { closedTuning } from '../../../support/domain/example-tuning.ts';

const channels = notificationChannelsSchema.parse({
  team: { kind: 'slack', secret: 's' },
  vision: { kind: 'slack', secret: 's', labels: { team: 'vision' } },
  all: {
    kind: 'slack',
    secret: 's',
    states: ['RUNNING', 'FAILED', 'CANCELLED', 'INTERRUPTED', 'REFUSED'],
    trials: true,
  },
});

const running = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 3_000]);
const succeeded = jobAfter(running, ['REPLICA_EXITED', 4_000], ['VMS_GONE', 5_000]);
const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', 4_000]);

let database: Database;
let ports: ChoicePorts;

beforeEach(() => {
  database = openDatabase(':memory:');
  ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    pageUrl: 'https://page.example',
  };
});
afterEach(() => database.close());

/** The ids of the notifications that the channels get of a message, when the job is as given. */
async function notified(message: object, now = 10_000): Promise<readonly string[]> {
  const parsed = jobUpdatesMessageSchema.parse(message);
  const chosen = await Promise.all(
    Object.entries(channels).map(([channel, settings]) =>
      chooseNotification(ports, { channel, settings, message: parsed }, now),
    ),
  );
  return chosen.flatMap((one) => one?.notificationId ?? []);
}

async function notifiedOf(job: Job, notify: NotifySpec | null = null, labels = {}): Promise<readonly string[]> {
  const stored = { ...job, spec: { ...job.spec, notify, labels } } as Job;
  await ports.jobs.create(stored, []);
  return notified(messageOfUpdate(jobUpdateOf(stored), stored, {}).message);
}

describe('a job', () => {
  it('notifies channels of their states, if its labels fit', async () => {
    expect(await notifiedOf(succeeded)).toEqual(['digits-1-SUCCEEDED-team']);
  });

  it('notifies a channel with a label filter if it has all labels', async () => {
    const expected = ['digits-1-SUCCEEDED-team', 'digits-1-SUCCEEDED-vision'];
    expect(await notifiedOf(succeeded, null, { team: 'vision', run: '1' })).toEqual(expected);
  });

  it('that names channels notifies these and no others, whatever their labels', async () => {
    expect(await notifiedOf(succeeded, { channels: ['vision'], states: null })).toEqual(['digits-1-SUCCEEDED-vision']);
  });

  it('that names none notifies none', async () => {
    expect(await notifiedOf(succeeded, { channels: [], states: null })).toEqual([]);
  });

  it('that names states notifies of these', async () => {
    expect(await notifiedOf(running, { channels: ['team'], states: ['RUNNING'] })).toEqual(['digits-1-RUNNING-team']);
  });

  it('that was interrupted notifies only channels that ask for it, and is not announced as QUEUED', async () => {
    expect(await notifiedOf(interrupted)).toEqual(['digits-2-INTERRUPTED-all']);
  });

  it('of a trial notifies only channels that ask for trials', async () => {
    const trial = { ...running, trial: { tuningId: 'search', ordinal: 1, metricIds: ['accuracy'] } };
    expect(await notifiedOf(trial)).toEqual(['digits-1-RUNNING-all']);
  });

  it('that has ended is not announced as running by a late message, and not again a week later', async () => {
    await ports.jobs.create(succeeded, []);
    const late = { type: 'JOB_UPDATE', jobId: 'digits', state: 'RUNNING', attempt: 1 };
    expect(await notified(late)).toEqual([]);
    expect(await notified({ ...late, state: 'SUCCEEDED' })).toEqual(['digits-1-SUCCEEDED-team']);
    expect(await notified({ ...late, state: 'SUCCEEDED' }, 8 * 86_400_000)).toEqual([]);
  });

  it('that does not exist notifies none', async () => {
    expect(await notified({ type: 'JOB_UPDATE', jobId: 'unknown', state: 'FAILED', attempt: 1 })).toEqual([]);
  });
});

it('a tuning notifies of its own end', async () => {
  const tuning = closedTuning();
  await ports.tunings.create(tuning, []);
  const message = { type: 'JOB_UPDATE', jobId: tuning.tuningId, state: tuning.verdict.state, attempt: 0 };
  expect(await notified(message, tuning.endedAt)).toContain(`${tuning.tuningId}-0-${tuning.verdict.state}-all`);
});

it('a refused upload notifies channels that ask for it, and a test only its channel', async () => {
  const refused = { type: 'UPLOAD_REFUSED', uploadId: 'u1', jobId: null, state: 'REFUSED', source: 'gs://u/a.json' };
  const message = { ...refused, report: 'gs://u/a.json.report.json', problems: [], problemCount: 1 };
  expect(await notified(message)).toEqual(['refused-u1-all']);
  expect(await notified({ type: 'NOTIFICATION_TEST', testId: 't1', channel: 'vision' })).toEqual(['test-t1-vision']);
});
