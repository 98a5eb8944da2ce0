import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { JobEventType } from '#shared/domain/event.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { createRecord } from '#shared/machine/machine.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import { handleJobEvent, jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { type TuningEventPorts, tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { cancelJob } from '#shared/use-cases/intake/cancel-job.ts';
import { newJob } from '#shared/use-cases/intake/new-job.ts';
import { reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { sweep } from '#shared/use-cases/teardown/teardown.ts';
import { collectLog, type LogLine } from '../../support/collected-log.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';
import { searchingTuning } from '../../support/domain/example-tuning.ts';
import { keptJob } from '../../support/domain/kept-job.ts';
import { noUpdates } from '../../support/use-cases/updates.ts';

let database: Database;
let lines: LogLine[];
let ports: Parameters<typeof recordHeartbeat>[0] & TuningEventPorts;

beforeEach(() => {
  database = openDatabase(':memory:');
  const log = collectLog();
  lines = log.lines;
  ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    deploymentKey: openSqliteDeploymentKey(database),
    logger: log.logger,
  };
});

afterEach(() => database.close());

async function happen(...steps: readonly (readonly [JobEventType, number])[]): Promise<void> {
  for (const [type, at] of steps) {
    const stored = await ports.jobs.read('digits');
    await handleJobEvent(ports, eventsFor(stored?.record ?? queuedJob(), at)[type]);
  }
}

const fieldsOf = (name: string) => lines.map((line) => line[name]);

describe('a committed transition', () => {
  it('is one line, with what happened and how long the state before had lasted', async () => {
    const { spec, zones, packages, source } = queuedJob();
    const accepted = { zones, packages, source: { ...source, submittedBy: 'ada@example.com' }, warnings: [] };
    await createRecord(jobMachine(ports), newJob(spec, { ...accepted, now: 0, timeouts: TIMEOUTS }), []);
    await happen(['PLACEMENT_CHOSEN', 4_000], ['VMS_CREATED', 5_000], ['REPLICA_STARTED', 64_000]);
    await happen(['ATTEMPT_INTERRUPTED', 100_000], ['CANCEL_REQUESTED', 300_000]);
    await happen(['VMS_GONE', 310_000]);
    expect(fieldsOf('revision')).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const labelled = { 'logging.googleapis.com/labels': { job_id: 'digits' } };
    expect([lines[0], lines[4], lines[6]]).toEqual([
      {
        ...labelled,
        severity: 'INFO',
        message: 'job digits: QUEUED (SUBMITTED)',
        ...{ kind: 'transition', record: 'job', jobId: 'digits', event: 'SUBMITTED', from: null, to: 'QUEUED' },
        ...{ attempt: 1, placementRound: 1, zone: null, cause: null, inStateMs: null, ageMs: 0, revision: 1 },
        by: 'ada@example.com',
      },
      {
        ...labelled,
        severity: 'INFO',
        message: 'job digits: RUNNING to QUEUED (ATTEMPT_INTERRUPTED, PREEMPTED)',
        ...{ kind: 'transition', record: 'job', jobId: 'digits', event: 'ATTEMPT_INTERRUPTED' },
        ...{ from: 'RUNNING', to: 'QUEUED', attempt: 1, placementRound: 1, zone: 'us-central1-a' },
        ...{ cause: 'PREEMPTED', causeClass: 'interruption', inStateMs: 36_000, ageMs: 100_000, revision: 5, by: null },
      },
      expect.objectContaining({ from: 'CLOSING', to: 'CANCELLED', inStateMs: 10_000, ageMs: 310_000 }),
    ]);
  });

  it('says that it only tried a waiting job again, which its history leaves out', async () => {
    await createRecord(jobMachine(ports), queuedJob(), []);
    await happen(['NO_PLACEMENT_LEFT', 1_000], ['DEADLINE_PASSED', 16_000], ['NO_PLACEMENT_LEFT', 17_000]);
    expect(fieldsOf('isInHistory')).toEqual([undefined, false, false]);
    expect((await ports.jobs.read('digits'))?.record.history).toHaveLength(1);
  });

  it('is logged once, however often its event is delivered, and an event without effect is not', async () => {
    await createRecord(jobMachine(ports), queuedJob(), []);
    await happen(['CANCEL_REQUESTED', 1_000], ['CANCEL_REQUESTED', 1_000], ['REPLICA_STARTED', 2_000]);
    expect(fieldsOf('event')).toEqual(['CANCEL_REQUESTED']);
    expect(await createRecord(jobMachine(ports), queuedJob(), [])).toBe('EXISTS');
    expect(lines).toHaveLength(1);
  });

  it('says who cancelled a job or a tuning, of which trial it is, and that a VM was kept', async () => {
    await createRecord(tuningMachine(ports), searchingTuning({ tuningId: 'search' }), []);
    await cancelJob(ports, { jobId: 'search', by: 'ada@example.com' }, 1_000);
    const trial = { tuningId: 'search', ordinal: 1, metricIds: [] };
    await ports.jobs.create({ ...keptJob, trial }, []);
    await cancelJob(ports, { jobId: 'digits', by: null }, 70_000);
    expect(lines).toEqual([
      expect.objectContaining({ record: 'tuning', jobId: 'search', from: 'SEARCHING', by: 'ada@example.com' }),
      expect.objectContaining({ record: 'job', jobId: 'digits', tuningId: 'search', isKept: true, by: null }),
    ]);
  });
});

describe('a decision that changes no record', () => {
  const placed = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000]);
  const vm: Vm = {
    ...{ vmName: 'df-digits-a1-master-0', zone: 'us-central1-a', instanceId: '101' },
    ...{ jobId: 'digits', attempt: 1, status: 'RUNNING' },
  };

  it.each([
    ['JOB_UNKNOWN', []],
    ['ATTEMPT_ENDED', [['ATTEMPT_INTERRUPTED', 3_000]]],
    ['JOB_ENDED', [['CANCEL_REQUESTED', 3_000]]],
  ] as const)('to delete a VM says why: %s', async (reason, steps) => {
    if (reason !== 'JOB_UNKNOWN') {
      await ports.jobs.create(jobAfter(placed, ...steps), []);
    }
    const vms = { list: async () => [vm], delete: async () => 'DELETING' as const };
    await sweep({ ...ports, vms }, 10_000);
    await sweep({ ...ports, vms: { ...vms, list: async () => [{ ...vm, status: 'STOPPING' }] } }, 20_000);
    expect(lines).toEqual([
      expect.objectContaining({ kind: 'decision', decision: 'VM_DELETED', vmName: vm.vmName, zone: vm.zone, reason }),
    ]);
  });

  it.each([
    ['NOT_CURRENT', [['ATTEMPT_INTERRUPTED', 3_000]]],
    ['JOB_ENDED', [['CANCEL_REQUESTED', 3_000]]],
  ] as const)('to reject a heartbeat says why: %s', async (reason, steps) => {
    await ports.jobs.create(jobAfter(placed, ...steps), []);
    const { usage, progress } = exampleReplica();
    const heartbeat = {
      protocolVersion: 3,
      jobId: 'digits',
      attempt: 1,
      role: 'master',
      index: 0,
      sequence: 7,
    } as const;
    const sender = { vmName: vm.vmName, zone: vm.zone, instanceId: '101', serviceAccount: null, at: 5_000 };
    await recordHeartbeat(ports, Object({ ...heartbeat, phase: 'RUNNING', usage, progress, exit: null }), sender);
    const decision = { decision: 'HEARTBEAT_REJECTED', jobId: 'digits', replica: 'master-0', attempt: 1 };
    expect(lines).toEqual([expect.objectContaining({ kind: 'decision', ...decision, vmName: vm.vmName, reason })]);
  });

  it('of a lease is not logged for a replica that has reported its exit, or is not of the attempt', async () => {
    await ports.jobs.create(Object.assign({}, placed, { wakeAt: 10 ** 9 }), []);
    const expired = { ...exampleReplica(), jobId: 'digits', instanceId: '101', leaseExpiresAt: 3_000 };
    await ports.replicas.record({ ...expired, exit: { outcome: 'SUCCEEDED' } });
    await ports.replicas.record({ ...expired, instanceId: '99', attempt: 0, vmName: 'earlier' });
    await reconcile(ports, 3_000 + TIMEOUTS.controlPlaneTimeoutMs);
    expect(lines.filter(({ decision }) => decision === 'LEASE_EXPIRED')).toEqual([]);
  });

  it('is logged for an expired lease; and each tick, what all VMs cost', async () => {
    await ports.jobs.create(Object.assign({}, placed, { wakeAt: 10 ** 9 }), []);
    const expired = { jobId: 'digits', instanceId: '101', sequence: 0, heardAt: 2_000, leaseExpiresAt: 3_000 };
    await ports.replicas.record({ ...exampleReplica(), ...expired });
    await reconcile(ports, 3_000 + TIMEOUTS.controlPlaneTimeoutMs);
    expect(lines).toEqual([
      expect.objectContaining({ kind: 'transition', event: 'ATTEMPT_INTERRUPTED', cause: 'VM_BOOT_TIMED_OUT' }),
      expect.objectContaining({ kind: 'decision', decision: 'LEASE_EXPIRED', jobId: 'digits', replica: 'master-0' }),
      expect.objectContaining({ kind: 'usage', vms: 1, usdPerHour: expect.any(Number), unpricedVms: 0 }),
    ]);
  });
});
