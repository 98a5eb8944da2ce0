import { describe, expect, it } from 'vitest';
import { priceOfJob } from '#shared/catalog/job-price.ts';
import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import { type Job, replicasOf, stateOf, type TrialRef } from '#shared/domain/job.ts';
import { keepsVm } from '#shared/domain/ownership.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { timelineOf } from '#shared/domain/timeline.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { eventsFor, INSTANCE, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const KEPT_MS = 1_800_000;
const FAILED_AT = 60_000;
const UNTIL = FAILED_AT + KEPT_MS;

const running = jobAfter(
  queuedJob({ keepOnFailureMs: KEPT_MS }),
  ['PLACEMENT_CHOSEN', 1_000],
  ['VMS_CREATED', 2_000],
  ['REPLICA_STARTED', 3_000],
);

function failed(job: Job = running, code: CauseCode = 'PROGRAM_FAILED') {
  const exit = { outcome: 'FAILED', cause: causeOf(code, 'It failed.') } as const;
  return transition(job, { ...eventsFor(job, FAILED_AT).REPLICA_EXITED, exit });
}

const PROGRAM_FAILED = { outcome: 'FAILED', cause: causeOf('PROGRAM_FAILED', 'It failed.') } as const;

const kept = failed().job;

describe('the VM of a failed program', () => {
  it('is kept until the time of its job is over, and the failure is published at once', () => {
    const { job, effects } = failed();
    expect(stateOf(job)).toBe('FAILED');
    expect(job).toMatchObject({ status: 'CLOSING', kept: { replica: 'master-0', until: UNTIL, releasedAt: null } });
    expect(effects.map(({ type }) => type)).toEqual(['TEARDOWN', 'JOB_UPDATE']);
  });

  it('is that of the replica that failed first, as Compute Engine knows it', () => {
    const cluster = queuedJob({ keepOnFailureMs: KEPT_MS });
    const [master] = cluster.spec.replicaGroups;
    const replicaGroups = [master, { ...master, role: 'worker', count: 2 }] as const;
    const placed = jobAfter({ ...cluster, spec: { ...cluster.spec, replicaGroups } }, ['PLACEMENT_CHOSEN', 1_000]);
    const instances = replicasOf(placed.spec).map((replica, order) => ({
      ...replica,
      vmName: vmNameOf('digits', 1, replica),
      instanceId: String(100 + order),
    }));
    const created = transition(placed, { ...eventsFor(placed, 2_000).VMS_CREATED, instances }).job;
    const held = transition(jobAfter(created, ['REPLICA_STARTED', 3_000]), {
      ...eventsFor(created, FAILED_AT).REPLICA_EXITED,
      replica: 'worker-1',
      exit: PROGRAM_FAILED,
    }).job;
    const { HELD_FAILURE_RESOLVED } = eventsFor(held, FAILED_AT);
    const resolved = { ...HELD_FAILURE_RESOLVED, replica: 'worker-1', exit: PROGRAM_FAILED };
    expect(transition(held, resolved).job).toMatchObject({
      kept: { replica: 'worker-1', vmName: vmNameOf('digits', 1, { role: 'worker', index: 1 }), instanceId: '102' },
    });
  });

  it('is the only one that its job owns then', () => {
    const vm = { vmName: vmNameOf('digits', 1, INSTANCE), zone: 'us-central1-a', instanceId: '101' };
    expect(keepsVm(kept, vm)).toBe(true);
    expect(keepsVm(kept, { ...vm, vmName: vmNameOf('digits', 1, { role: 'worker', index: 0 }) })).toBe(false);
    expect(keepsVm(kept, { ...vm, zone: 'us-central1-b' })).toBe(false);
    expect(keepsVm(jobAfter(kept, ['RELEASE_REQUESTED', FAILED_AT + 1]), vm)).toBe(false);
  });

  it('has the recorded instance id: a VM of the same name that was created later is another one', () => {
    const vm = { vmName: vmNameOf('digits', 1, INSTANCE), zone: 'us-central1-a', instanceId: '101' };
    const recorded =
      kept.status === 'CLOSING' && kept.kept !== null ? { ...kept, kept: { ...kept.kept, instanceId: '101' } } : kept;
    expect([keepsVm(recorded, vm), keepsVm(recorded, { ...vm, instanceId: '102' })]).toEqual([true, false]);
  });

  it('is checked again and again, and deleted when its time is over', () => {
    const checked = jobAfter(kept, ['DEADLINE_PASSED', FAILED_AT + TIMEOUTS.keptCheckMs]);
    expect(checked).toMatchObject({ wakeAt: FAILED_AT + 2 * TIMEOUTS.keptCheckMs, kept: { releasedAt: null } });
    const { job, effects } = transition(checked, eventsFor(checked, UNTIL).DEADLINE_PASSED);
    expect(job).toMatchObject({ kept: { releasedAt: UNTIL }, wakeAt: UNTIL + TIMEOUTS.teardownMs });
    expect(effects).toEqual([{ type: 'TEARDOWN', jobId: 'digits' }]);
  });

  it('is never checked later than its time is over', () => {
    expect(jobAfter(kept, ['DEADLINE_PASSED', UNTIL - 1_000])).toMatchObject({ wakeAt: UNTIL });
  });

  it.each(['RELEASE_REQUESTED', 'CANCEL_REQUESTED'] as const)('is deleted by %s, once', (type) => {
    const { job, effects } = transition(kept, eventsFor(kept, 90_000)[type]);
    expect(job).toMatchObject({ verdict: { state: 'FAILED' }, kept: { releasedAt: 90_000 } });
    expect(effects).toEqual([{ type: 'TEARDOWN', jobId: 'digits' }]);
    expect(transition(job, eventsFor(job, 95_000)[type]).job).toBe(job);
  });

  it('that has ended by itself closes the job, whose end is published with its cost', () => {
    const { job, effects } = transition(kept, eventsFor(kept, 120_000).VMS_GONE);
    expect(job).toMatchObject({ status: 'CLOSED', endedAt: 120_000, kept: { releasedAt: 120_000 } });
    expect(effects).toEqual([{ type: 'JOB_UPDATE', jobId: 'digits', state: 'FAILED', attempt: 1 }]);
  });

  it('is billed, and a phase of its attempt', () => {
    const closed = jobAfter(kept, ['RELEASE_REQUESTED', 90_000], ['VMS_GONE', 91_000]);
    const hourly = priceOfJob(closed, 0).perHourUsd ?? 0;
    const ranSeconds = 60;
    expect(priceOfJob(closed, 0).totalUsd).toBeCloseTo((hourly * (ranSeconds + 30)) / 3_600, 6);
    expect(timelineOf(closed, null)[0]?.phases.slice(-2)).toEqual([
      { phase: 'KEPT', startedAt: FAILED_AT, endedAt: 90_000 },
      { phase: 'CLOSING', startedAt: 90_000, endedAt: 91_000 },
    ]);
    expect(timelineOf(kept, null)[0]?.phases.at(-1)).toEqual({ phase: 'KEPT', startedAt: FAILED_AT, endedAt: null });
  });
});

it('a VM is kept for as short a time as a millisecond', () => {
  const { spec } = running;
  const brief = { ...running, spec: { ...spec, limits: { ...spec.limits, keepOnFailureMs: 1 } } };
  expect(failed(brief).job).toMatchObject({ kept: { until: FAILED_AT + 1 } });
});

describe('no VM is kept', () => {
  const trial: TrialRef = { tuningId: 'tuning', ordinal: 1, metricIds: ['accuracy'] };
  const withRestarts: Job = {
    ...running,
    spec: { ...running.spec, limits: { ...running.spec.limits, restartsMax: 1 } },
  };

  it.each<readonly [string, Job, CauseCode]>([
    ['of a job that does not ask for it', jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000]), 'PROGRAM_FAILED'],
    ['of a trial', { ...running, trial }, 'PROGRAM_FAILED'],
    ['whose program used up its time', running, 'MAX_RUNNING_TIME_EXCEEDED'],
    ['whose failure is not the program’s', running, 'JOB_DIR_UNWRITABLE'],
  ])('%s', (_, job, code) => {
    expect(failed(job, code).job).toMatchObject({ status: 'CLOSING', kept: null });
  });

  it('while restarts are left', () => {
    expect(failed(withRestarts).job).toMatchObject({ status: 'QUEUED', attempt: 2 });
  });

  it('of a job that was cancelled or succeeded', () => {
    expect(jobAfter(running, ['CANCEL_REQUESTED', 4_000])).toMatchObject({ status: 'CLOSING', kept: null });
    expect(jobAfter(running, ['REPLICA_EXITED', 4_000])).toMatchObject({ status: 'CLOSING', kept: null });
  });
});
