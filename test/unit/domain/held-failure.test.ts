import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CAUSES, type Cause, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import { evaluateHeldFailure, isHolding } from '#shared/domain/held-failure.ts';
import { type HeldFailure, isPlaced, type Job } from '#shared/domain/job.ts';
import { type Replica, UNINTERRUPTED } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { REBOOT_EFFECT_MS_MAX, TIMEOUTS, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';
import TORCHRUN from '../../fixtures/torchrun-evidence.json' with { type: 'json' };
import { simulatedJob } from '../../simulation/simulated-job.ts';
import { eventsFor, jobAfter } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';

const CAUSE_CODES = Object.keys(CAUSES) as CauseCode[];

const T = 1_000_000;
const ALIVE_AT = T + TIMEOUTS.heartbeatDelayMs;
const OVER_AT = T + TIMEOUTS.failureHoldMs;

const LOST_CONNECTION = causeOf('PROGRAM_FAILED', 'Exit code 1.', ['RuntimeError: Connection closed by peer']);
const BUG = causeOf('PROGRAM_FAILED', 'Exit code 1.', ['Traceback', 'ValueError: x12 must not be 10']);
const PREEMPTED = causeOf('PREEMPTED', 'Compute Engine is preempting the VM.');
const SUCCESS = { outcome: 'SUCCEEDED' } as const;
const failed = (cause = BUG) => ({ outcome: 'FAILED', cause }) as const;

const job = simulatedJob('trio', 0, { others: [{ role: 'worker', count: 2 }] });
const running = jobAfter(job, ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3]);

/** The job after the exit of a replica at a time; by default, worker-0 loses its connection at T. */
function exit(before: Job, facts: object = {}, at = T): Job {
  const event = { ...eventsFor(before, at).REPLICA_EXITED, replica: 'worker-0', exit: failed(LOST_CONNECTION) };
  return transition(before, { ...event, ...facts }).job;
}

const held = exit(running);

function replica(name: string, facts: Partial<Replica> = {}): Replica {
  const inTime = { phase: 'RUNNING', heardAt: ALIVE_AT, ...UNINTERRUPTED } as const;
  return { ...exampleReplica(), replica: name, vmName: `vm-${name}`, ...inTime, ...facts };
}

const EXITED = { phase: 'EXITED', heardAt: T, exit: failed(LOST_CONNECTION), endedAt: T } as const;

/** The verdict on `held`, given what is known of the master and of worker-1. */
function verdict(facts: { readonly master?: Partial<Replica>; readonly worker1?: Partial<Replica>; now?: number }) {
  if (!isPlaced(held) || !isHolding(held)) {
    throw new Error('The failure is not held.');
  }
  const { master = {}, worker1 = {}, now = ALIVE_AT } = facts;
  const replicas = [replica('master-0', master), replica('worker-0', EXITED), replica('worker-1', worker1)];
  return evaluateHeldFailure(held, replicas, { now, timeouts: TIMEOUTS });
}

describe('the failure of a program in a cluster', () => {
  it('is held, and the job is woken to check on it', () => {
    expect(held).toMatchObject({
      status: 'RUNNING',
      wakeAt: T + TIMEOUTS.heartbeatDelayMs,
      heldFailure: { replica: 'worker-0', failedAt: T, heldAt: T } satisfies Partial<HeldFailure>,
    });
    expect(exit(running, { endedAt: T - 5_000 })).toMatchObject({ heldFailure: { failedAt: T - 5_000 } });
  });

  it('is held also while the master is still in setup', () => {
    const preparing = jobAfter(job, ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2]);
    expect(exit(preparing)).toMatchObject({ status: 'PREPARING', heldFailure: { replica: 'worker-0' } });
    expect(jobAfter(exit(preparing), ['REPLICA_STARTED', T + 1])).toMatchObject({
      status: 'RUNNING',
      heldFailure: { replica: 'worker-0' },
      wakeAt: T + TIMEOUTS.heartbeatDelayMs,
    });
  });

  it.each([
    ['a single VM', jobAfter(simulatedJob('one', 0), ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2]), BUG],
    ['the agent itself', running, causeOf('INTERNAL_ERROR', 'The agent failed.')],
    ['its maximum running time', running, causeOf('MAX_RUNNING_TIME_EXCEEDED', 'Too long.')],
    ['the installation', running, causeOf('INSTALL_FAILED', 'pip failed.')],
  ])('is decided at once if it is of %s', (_, before, cause) => {
    expect(exit(before, { exit: failed(cause), replica: 'master-0' })).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: cause.code } },
    });
  });

  it('is decided at once if not all VMs of the cluster are known', () => {
    const unconfirmed = jobAfter(job, ['PLACEMENT_CHOSEN', 1]);
    expect(exit(unconfirmed)).toMatchObject({ status: 'CLOSING', verdict: { state: 'FAILED' } });
  });

  it('that is not held any more is not resolved', () => {
    const late = { ...eventsFor(running, ALIVE_AT).HELD_FAILURE_RESOLVED, exit: failed() };
    expect(transition(running, late).job).toBe(running);
  });

  it('is still held after further failures, uploads and deadlines', () => {
    const later = exit(held, { replica: 'worker-1' }, T + 1_000);
    expect(later).toBe(held);
    expect(jobAfter(held, ['REPLICA_UPLOADING', T + 1])).toMatchObject({ wakeAt: T + TIMEOUTS.heartbeatDelayMs });
    const woken = transition(held, eventsFor(held, ALIVE_AT).DEADLINE_PASSED);
    expect(woken).toMatchObject({ job: { wakeAt: ALIVE_AT + TIMEOUTS.heartbeatDelayMs }, effects: [] });
  });

  it('is forgotten when the job is cancelled, or another replica reports its interruption', () => {
    expect(jobAfter(held, ['CANCEL_REQUESTED', T + 1])).toMatchObject({ verdict: { state: 'CANCELLED' } });
    expect(jobAfter(held, ['ATTEMPT_INTERRUPTED', T + 1])).toMatchObject({ status: 'QUEUED', attempt: 2 });
    const reported = exit(held, { replica: 'worker-1', exit: failed(PREEMPTED) }, T + 1);
    expect(reported).toMatchObject({ status: 'QUEUED', attempt: 2, ledger: [{ cause: { code: 'PREEMPTED' } }] });
    expect(reported).not.toHaveProperty('heldFailure');
  });

  it('does not decide the job if the master had succeeded before', () => {
    const success = { replica: 'master-0', exit: SUCCESS };
    const before = exit(held, { ...success, endedAt: T - 1 }, T + 60_000);
    expect(before).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
    const after = exit(held, { ...success, endedAt: T + 1 }, T + 60_000);
    expect(after).toMatchObject({ status: 'RUNNING', heldFailure: { hasMasterSucceeded: true } });
    expect(exit(held, { ...success, endedAt: T }, T + 60_000)).toEqual(after);
    expect(exit(after, { ...success, endedAt: T + 1 }, T + 70_000)).toBe(after);
    expect(jobAfter(after, ['ATTEMPT_INTERRUPTED', T + 90_000])).toMatchObject({ verdict: { state: 'SUCCEEDED' } });
  });
});

describe('a held failure', () => {
  it('is decided when the other replicas have sent a heartbeat that is newer than it', () => {
    expect(verdict({})).toMatchObject({ outcome: 'FAILED', cause: { code: 'PROGRAM_FAILED' } });
    expect(verdict({ worker1: { heardAt: ALIVE_AT - 1 } })).toBeNull();
    expect(verdict({ worker1: { ...EXITED, exit: SUCCESS } })).toMatchObject({ outcome: 'FAILED' });
  });

  it.each([
    ['reports an interruption', { exit: failed(PREEMPTED) }, 'PREEMPTED'],
    ['rebooted after it', { rebootedAt: T + 20_000 }, 'VM_TERMINATED'],
    ['rebooted some time before it', { rebootedAt: T - REBOOT_EFFECT_MS_MAX }, 'VM_TERMINATED'],
    [
      'had a notice and must have ended',
      { notice: { isStopping: true, endsAt: T, message: 'Preempted.' } },
      'PREEMPTED',
    ],
  ])('was an interruption if another replica %s', (_, worker1, code) => {
    expect(verdict({ worker1 })).toMatchObject({ outcome: 'FAILED', cause: { code } });
  });

  it('is not explained by a reboot long before, or after the program of that VM had ended', () => {
    const longBefore = verdict({ worker1: { rebootedAt: T - REBOOT_EFFECT_MS_MAX - 1 } });
    const afterItsEnd = verdict({ worker1: { ...EXITED, exit: failed(), rebootedAt: T + 20_000 } });
    for (const outcome of [longBefore, afterItsEnd]) {
      expect(outcome).toMatchObject({ cause: { code: 'PROGRAM_FAILED' } });
    }
  });

  it('waits for the exit of a replica that has a notice, until the time is over', () => {
    const worker1 = { notice: { isStopping: true, endsAt: null, message: 'Preempted.' } };
    expect(verdict({ worker1, now: OVER_AT - 1 })).toBeNull();
    expect(verdict({ worker1, now: OVER_AT })).toMatchObject({ cause: { code: 'PREEMPTED' } });
  });

  it('waits for a replica without heartbeats, which is lost when the time is over', () => {
    const worker1 = { heardAt: T };
    expect(verdict({ worker1, now: OVER_AT - 1 })).toBeNull();
    expect(verdict({ worker1, now: OVER_AT })).toMatchObject({ cause: { code: 'HEARTBEAT_LOST' } });
  });

  it('waits for replicas that are still saving their outputs, until the time is over', () => {
    const worker1 = { phase: 'UPLOADING', pendingExit: failed(), endedAt: T - 1 } as const;
    expect(verdict({ worker1, now: OVER_AT - 1 })).toBeNull();
    expect(verdict({ worker1, now: OVER_AT })?.outcome).toBe('FAILED');
  });

  it('does not decide a job whose master succeeded before and saves its outputs', () => {
    const master = { phase: 'UPLOADING', pendingExit: SUCCESS, endedAt: T - 1 } as const;
    expect(verdict({ master, now: OVER_AT + UPLOAD_GRACE_MS - 1 })).toBeNull();
    expect(verdict({ master, now: OVER_AT + UPLOAD_GRACE_MS })).toMatchObject({ outcome: 'FAILED' });
    expect(verdict({ master: { ...master, phase: 'EXITED', exit: SUCCESS, pendingExit: null } })).toEqual(SUCCESS);
  });
});

/** How a job goes on after a failure of one of its replicas while the others are alive. */
function endOf(before: Job, cause: Cause, name: string) {
  const started = jobAfter(before, ['PLACEMENT_CHOSEN', 1], ['VMS_CREATED', 2], ['REPLICA_STARTED', 3]);
  let after = exit(started, { exit: failed(cause), replica: name });
  if (isPlaced(after) && isHolding(after)) {
    const replicas = ['master-0', 'worker-0', 'worker-1'].map((one) => replica(one));
    const outcome = evaluateHeldFailure(after, replicas, { now: ALIVE_AT, timeouts: TIMEOUTS });
    const event = { ...eventsFor(after, ALIVE_AT).HELD_FAILURE_RESOLVED, exit: outcome ?? SUCCESS };
    after = transition(after, event).job;
  }
  const ended = after.status === 'CLOSING' ? after.verdict.cause : after.ledger[0]?.cause;
  return { attempt: after.attempt, status: after.status, ended: { ...ended, message: '' } };
}

describe('the cause', () => {
  const exited = (cause: typeof BUG, endedAt: number) => ({ ...EXITED, exit: failed(cause), endedAt });
  const causeWith = (worker1: Partial<Replica>) => {
    const outcome = verdict({ worker1 });
    return outcome?.outcome === 'FAILED' ? outcome.cause : undefined;
  };

  it('names the replica that failed first, with its last lines', () => {
    expect(causeWith(exited(BUG, T - 60_000))).toMatchObject({
      message: expect.stringMatching(/^Replica worker-1 failed first: .* Another replica failed after it\.$/),
      evidence: BUG.evidence,
    });
    expect(causeWith(exited(BUG, T + 60_000))?.message).toMatch(/^Replica worker-0 failed first/);
  });

  it('does not name a replica that lost its connection at about the same time, whatever the clocks say', () => {
    expect(causeWith(exited(BUG, T + 5_000))?.message).toMatch(/^Replica worker-1 failed first/);
  });

  it('is diagnosed, and tried again or not, as that of one machine, for every cause and diagnosis', () => {
    const diagnoses = fc.record({
      label: fc.string(),
      remedy: fc.string(),
      canRetryHelp: fc.boolean(),
      line: fc.option(fc.string(), { nil: undefined }),
    });
    const causes = fc
      .record({ code: fc.constantFrom(...CAUSE_CODES), evidence: fc.array(fc.string(), { maxLength: 3 }) })
      .map(({ code, evidence }) => causeOf(code, 'It failed.', evidence));
    const failures = fc.tuple(
      causes,
      fc.option(diagnoses),
      fc.nat({ max: 3 }),
      fc.constantFrom('master-0', 'worker-1'),
    );
    fc.assert(
      fc.property(failures, ([cause, diagnosis, restartsMax, name]) => {
        const whole = diagnosis === null ? cause : { ...cause, diagnosis };
        const limits = { ...job.spec.limits, restartsMax };
        const twice = { ...job, spec: { ...job.spec, limits } };
        const alone = { ...twice, spec: { ...twice.spec, replicaGroups: [twice.spec.replicaGroups[0]] as const } };
        const [cluster, machine] = [endOf(twice, whole, name), endOf(alone, whole, 'master-0')];
        expect(cluster).toEqual(machine);
      }),
    );
  });

  it('names the only one that failed without mentioning others', () => {
    expect(causeWith({})?.message).toBe('Replica worker-0 failed first: Exit code 1.');
  });

  /** Evidence of torchrun with two processes on each of two VMs, as the agent reports it (PyTorch 2.14, Gloo). */
  const ofTorchrun = (name: keyof typeof TORCHRUN) => causeOf('PROGRAM_FAILED', 'Exit code 1.', TORCHRUN[name]);

  it('names the rank that raised, behind the launcher’s own traceback, and not those that lost their connection', () => {
    const lost = exited(ofTorchrun('lostConnection'), T - 1_000);
    const message = (worker1: Partial<Replica>) => {
      const outcome = verdict({ master: lost, worker1 });
      return outcome?.outcome === 'FAILED' ? outcome.cause.message : undefined;
    };
    expect(message(exited(ofTorchrun('raised'), T + 2_000))).toMatch(/^Replica worker-1 \(rank 3\) failed first/);
    expect(message(exited(ofTorchrun('aborted'), T + 2_000))).toMatch(/^Replica worker-1 \(rank 2\) failed first/);
    expect(message(lost)).toMatch(/^Replica master-0 failed first/);
  });

  it('is the replica that ended without an error, if the others only lost their connection to it', () => {
    const early = { phase: 'EXITED', exit: SUCCESS, endedAt: T - 40_000 } as const;
    expect(causeWith(early)).toMatchObject({
      code: 'REPLICA_ENDED_EARLY',
      message: expect.stringMatching(
        /^The program of worker-1 ended with exit code 0, and others lost their connection to it\./,
      ),
      evidence: LOST_CONNECTION.evidence,
    });
    const outcome = verdict({ master: exited(BUG, T + 1), worker1: early });
    expect(outcome).toMatchObject({ cause: { code: 'PROGRAM_FAILED', evidence: BUG.evidence } });
  });

  it('is the replica that had not started, with what it was doing, if the others timed out waiting for it', () => {
    const created = eventsFor(jobAfter(job, ['PLACEMENT_CHOSEN', 1]), 2).VMS_CREATED;
    const preparing = transition(jobAfter(job, ['PLACEMENT_CHOSEN', 1]), created).job;
    const evidence = [
      'torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 2/3 clients joined.',
    ];
    const waited = exit(preparing, { exit: failed(causeOf('PROGRAM_FAILED', 'Exit code 1.', evidence)) });
    const replicas = [replica('master-0'), replica('worker-0', EXITED), replica('worker-1', { phase: 'INSTALLING' })];
    const outcome =
      isPlaced(waited) && isHolding(waited)
        ? evaluateHeldFailure(waited, replicas, { now: ALIVE_AT, timeouts: TIMEOUTS })
        : null;
    expect(outcome).toMatchObject({
      cause: {
        code: 'REPLICA_NOT_STARTED',
        message: expect.stringContaining('worker-1 is installing packages; master-0 and worker-0 wait'),
      },
    });
  });
});
