import { causeOf } from '#shared/domain/cause.ts';
import { jobUpdateOf, provisionOf } from '#shared/domain/effect.ts';
import type { JobEvent, JobEventType } from '#shared/domain/event.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { publishOutbox } from '#shared/machine/machine.ts';
import { JOB_UPDATE_SCHEMA_VERSION, type NotificationTest, type UploadRefused } from '#shared/protocol/job-update.ts';
import type { TuningMessage } from '#shared/protocol/stage-message.ts';
import { handleJobEvent, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { eventsFor, holdingJob, queuedJob } from '../domain/example-job.ts';
import { exampleReplica } from '../domain/example-replica.ts';
import { closedTuning, exampleCurve, runningTrial, searchingTuning, succeededTrial } from '../domain/example-tuning.ts';
import { fullSpec } from '../domain/full-spec.ts';
import { CHANNEL, type Stores } from './base-database.ts';

/** A record of every kind, a job in every state, and one message of each type, as the stages leave them in flight. */
export async function writeBaseRecords(stores: Stores): Promise<void> {
  await writeJobs(stores);
  await writeTunings(stores);
  await writeOthers(stores);
  await publishMessages(stores);
  keepOneOfEach(stores);
}

/** Each job's events, of which the outbox is published; the last commit's is not, as after a crash. */
async function writeJobs(stores: Stores): Promise<void> {
  const placed = ['PLACEMENT_CHOSEN', 'VMS_CREATED'] as const;
  const diagnosis = { label: 'value_error', remedy: 'Read the traceback.', canRetryHelp: false };
  const cause = { ...causeOf('PROGRAM_FAILED', 'The program ended with exit code 1.', ['ValueError: x']), diagnosis };
  const courses: Readonly<Record<string, readonly JobEventType[]>> = {
    queued: [],
    waiting: ['PLACEMENT_CHOSEN', 'VMS_PENDING'],
    running: [...placed, 'REPLICA_STARTED'],
    interrupted: [...placed, 'REPLICA_STARTED', 'ATTEMPT_INTERRUPTED'],
    failed: [...placed, 'REPLICA_STARTED', 'REPLICA_EXITED', 'VMS_GONE'],
    cancelling: ['CANCEL_REQUESTED'],
  };
  for (const [jobId, course] of Object.entries(courses)) {
    const accepted = { ...queuedJob(), jobId, spec: { ...queuedJob().spec, jobId } };
    const job = jobId === 'queued' ? { ...accepted, spec: { ...fullSpec, jobId } } : accepted;
    await stores.jobs.create(job, [provisionOf(job), jobUpdateOf(job)]);
    for (const [index, type] of course.entries()) {
      const now: Job = (await stores.jobs.read(jobId))?.record ?? job;
      const event: JobEvent = eventsFor(now, 1_000 * (index + 1))[type];
      const isFailure = event.type === 'REPLICA_EXITED';
      await handleJobEvent(stores, isFailure ? { ...event, exit: { outcome: 'FAILED', cause } } : event);
    }
  }
  const holding = await stores.jobs.read('running');
  if (holding !== undefined) {
    const { record: job, revision } = holding;
    const effects = transition(job, eventsFor(job, 9_000).CANCEL_REQUESTED).effects;
    await stores.jobs.commit({ expectedRevision: revision, eventId: 'held', record: holdingJob(job, 9_000), effects });
  }
  const trial = { tuningId: 'searching', ordinal: 1 };
  const ofTrial = { ...queuedJob(), jobId: 'searching_trial_1', trial: { ...trial, metricIds: ['accuracy'] } };
  await stores.jobs.create(ofTrial, [{ type: 'REPORT_TRIAL', jobId: ofTrial.jobId, ...trial }]);
  await publishOutbox(jobMachine(stores), ofTrial.jobId);
}

async function writeTunings(stores: Stores): Promise<void> {
  const trials = [succeededTrial(1, 0.9, { tuningId: 'searching' }), runningTrial(2, { tuningId: 'searching' })];
  const tuning = searchingTuning({
    tuningId: 'searching',
    best: { ordinal: 1, objective: 0.9, at: 62_000, afterTrials: 1 },
  });
  const { tuningId } = tuning;
  const update = { type: 'JOB_UPDATE', jobId: tuningId, state: 'RUNNING', attempt: 0 } as const;
  await stores.tunings.create(tuning, [
    { type: 'SUGGEST', tuningId, from: 1, count: 2 },
    { type: 'START_TRIAL', tuningId, ordinal: 1 },
    { type: 'STOP_TRIAL', tuningId, ordinal: 2, how: 'STOP' },
    update,
  ]);
  await publishOutbox(tuningMachine(stores), tuningId);
  await stores.tunings.commit({
    expectedRevision: 1,
    eventId: 'suggested',
    record: tuning,
    trials,
    effects: [{ type: 'START_TRIAL', tuningId, ordinal: 2 }],
  });
  await stores.tunings.create({ ...closedTuning(), tuningId: 'closed' }, []);
  await stores.curves.write(exampleCurve(1, [0.5, 0.9], { tuningId }), undefined);
}

async function writeOthers({ replicas, capacity, notifications }: Stores): Promise<void> {
  await replicas.record({ ...exampleReplica(), jobId: 'running' });
  await capacity.record({
    zone: 'us-central1-a',
    machineKey: 'n1-standard-4+1xNVIDIA_TESLA_T4',
    provisioningModel: 'SPOT',
    failedAt: 1_000,
  });
  await notifications.record({
    notificationId: 'failed-FAILED-team',
    channel: 'team',
    title: 'failed FAILED',
    outcome: 'RETRYING',
    problem: 'The channel answered 503.',
    status: 503,
    latencyMs: 12,
    notBefore: 60_000,
    at: 5_000,
  });
}

/**
 * Publishes the messages of other programs than the stages: users, the scheduler, Cloud Storage, the log sink, intake
 * and the API.
 */
async function publishMessages({ bus }: Stores): Promise<void> {
  const object = { kind: 'storage#object', bucket: 'uploads', name: 'digits.tar.gz', generation: '1', size: '5' };
  await bus.publish('uploads', object, { eventType: 'OBJECT_FINALIZE' });
  await bus.publish('submit', { module: 'trainer.task', packages: ['gs://uploads/digits.tar.gz'] });
  await bus.publish('control', { command: 'cancel', jobId: 'running' });
  await bus.publish('tick', { type: 'TICK' });
  await bus.publish('teardown', { type: 'SWEEP' });
  await bus.publish('interruptions', {
    insertId: '1',
    timestamp: '2026-11-27T00:00:00Z',
    resource: { type: 'gce_instance', labels: { instance_id: '101', zone: 'us-central1-a', project_id: 'p' } },
    protoPayload: {
      methodName: 'compute.instances.preempted',
      resourceName: 'projects/p/zones/us-central1-a/instances/df-digits-a1-master-0',
    },
  });
  const rung = { type: 'REPORT_RUNG', tuningId: 'searching', ordinal: 2, step: 9, value: 0.4 } satisfies TuningMessage;
  await bus.publish('tuning', rung, { jobId: rung.tuningId });
  const refused: UploadRefused = {
    type: 'UPLOAD_REFUSED',
    schemaVersion: JOB_UPDATE_SCHEMA_VERSION,
    uploadId: 'u1',
    jobId: null,
    state: 'REFUSED',
    source: 'gs://uploads/bad.yaml',
    report: 'gs://uploads/bad.yaml.report.json',
    problems: [{ code: 'MODULE_MISSING', message: 'No module.', remedy: 'Write one.' }],
    problemCount: 1,
  };
  await bus.publish('job-updates', refused, { type: refused.type });
  const test: NotificationTest = { type: 'NOTIFICATION_TEST', testId: 't1', channel: 'team' };
  await bus.publish('job-updates', test, { type: test.type });
  for (const topic of ['provision', CHANNEL] as const) {
    const [first] = bus.pull({ topic, countMax: 1, ackDeadlineAt: 60_000 });
    if (first !== undefined) {
      bus.deadLetter(first, 'It was rejected 10 times.');
    }
  }
}

/** Deletes further messages of the same subscription and type. */
function keepOneOfEach({ database: { sql } }: Stores): void {
  const seen = new Set<string>();
  for (const { delivery_id: id, topic, body } of sql.prepare('select * from messages order by delivery_id').all()) {
    const { data, attributes } = JSON.parse(String(body)) as { data: string; attributes: Record<string, string> };
    const { type } = JSON.parse(Buffer.from(data, 'base64').toString()) as { type?: string };
    const kind = `${topic} ${type} ${attributes.CloudPubSubDeadLetterSourceSubscription}`;
    if (seen.has(kind)) {
      sql.prepare('delete from messages where delivery_id = ?').run(id ?? null);
    }
    seen.add(kind);
  }
}
