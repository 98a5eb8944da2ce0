import { describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { CAUSES, type Cause, causeOf, classOf, remedyOf } from '#shared/domain/cause.ts';
import type { JobEventType } from '#shared/domain/event.ts';
import { ATTEMPT_RECORDS_MAX, isPlaced, type Job, type JobStatus, stateOf } from '#shared/domain/job.ts';
import { RULES, transition } from '#shared/domain/rules/transition.ts';
import { INTERRUPTIONS_IN_ROW_MAX, STABLE_RUN_MS, TIMEOUTS } from '#shared/domain/timeouts.ts';
import { parseStoredJob } from '#shared/protocol/stored-record.ts';
import { factsOf } from '../../support/diagnosis/job-facts.ts';
import { eventsFor, holdingJob, INSTANCE, jobAfter, PLACEMENT, queuedJob } from '../../support/domain/example-job.ts';

const STATUSES = Object.keys(RULES) as JobStatus[];

/** The fields by which an event names what it is about; one that names an earlier one is outdated. */
const FENCES = ['attempt', 'placementRound'] as const;

const queued = queuedJob();
const preparing = jobAfter(queued, ['PLACEMENT_CHOSEN', 1_000]);
const created = jobAfter(preparing, ['VMS_CREATED', 2_000]);
const running = jobAfter(created, ['REPLICA_STARTED', 3_000]);
const closing = jobAfter(running, ['REPLICA_EXITED', 200_000]);
const closed = jobAfter(closing, ['VMS_GONE', 210_000]);

function effectTypes(job: Job, type: JobEventType, at: number): readonly string[] {
  return transition(job, eventsFor(job, at)[type]).effects.map((effect) => effect.type);
}

describe('a job', () => {
  it('goes through QUEUED, PREPARING and RUNNING to SUCCEEDED', () => {
    expect([queued, preparing, created, running, closed].map(stateOf)).toEqual([
      'QUEUED',
      'QUEUED',
      'PREPARING',
      'RUNNING',
      'SUCCEEDED',
    ]);
  });

  it('is not SUCCEEDED before its VMs are deleted', () => {
    expect(closing.status).toBe('CLOSING');
    expect(stateOf(closing)).toBe('RUNNING');
    expect(effectTypes(running, 'REPLICA_EXITED', 200_000)).toContain('TEARDOWN');
  });

  it('requests the deletion of its VMs again for as long as they exist', () => {
    const at = 200_000 + TIMEOUTS.teardownMs;
    expect(transition(closing, eventsFor(closing, at).DEADLINE_PASSED).effects).toEqual([
      { type: 'TEARDOWN', jobId: 'digits' },
    ]);
  });

  it('does not change after it is closed', () => {
    for (const event of Object.values(eventsFor(closed, 999_999_999))) {
      expect(transition(closed, event), event.type).toEqual({ job: closed, effects: [] });
    }
  });
});

describe('every pair of status and event', () => {
  const jobs = { QUEUED: queued, PREPARING: created, RUNNING: running, CLOSING: closing, CLOSED: closed };
  const pairs = STATUSES.flatMap((status) =>
    Object.keys(eventsFor(queued, 0)).map((type) => ({ status, type: type as JobEventType })),
  );

  it.each(pairs)('$status × $type keeps identity, attempt order and a deadline', ({ status, type }) => {
    const { job } = transition(jobs[status], eventsFor(jobs[status], 999_999_999)[type]);
    expect(job.jobId).toBe('digits');
    expect(job.attempt).toBeGreaterThanOrEqual(jobs[status].attempt);
    expect(job.status === 'CLOSED' || Number.isFinite(job.wakeAt)).toBe(true);
  });

  it.each(pairs.filter(({ status, type }) => RULES[status][type] === undefined))(
    'ignores $type in $status',
    ({ status, type }) => {
      expect(transition(jobs[status], eventsFor(jobs[status], 999_999_999)[type])).toEqual({
        job: jobs[status],
        effects: [],
      });
    },
  );
});

describe('an event of another attempt or placement round', () => {
  const steps: readonly (readonly [JobEventType, number])[] = [
    ['ATTEMPT_INTERRUPTED', 100_000],
    ['PLACEMENT_CHOSEN', 101_000],
    ['VMS_CREATED', 102_000],
    ['REPLICA_STARTED', 103_000],
    ['REPLICA_EXITED', 104_000],
    ['VMS_GONE', 105_000],
  ];
  const followed = steps.map((_, index) => jobAfter(running, ...steps.slice(0, index + 1)));
  const second = [...followed, ...followed.filter(isPlaced).map((job) => holdingJob(job, 104_000))];
  const fenced = Object.values(eventsFor(running, 0)).flatMap((event) =>
    FENCES.filter((fence) => fence in event).map((fence) => ({ type: event.type, fence })),
  );

  it('is tried in every status', () => {
    expect(new Set(second.map(({ status }) => status))).toEqual(new Set(STATUSES));
    expect(second.every(({ attempt }) => attempt === 2)).toBe(true);
  });

  it.each(fenced)('is ignored: $type with an earlier $fence', ({ type, fence }) => {
    for (const job of second) {
      const late = { ...eventsFor(job, 200_000)[type], [fence]: job[fence] - 1 };
      const { job: after, effects } = transition(job, late);
      expect(after, job.status).toBe(job);
      expect(effects, job.status).toEqual([]);
    }
    const isHandled = second.some((job) => transition(job, eventsFor(job, 200_000)[type]).job !== job);
    expect(isHandled, `${type} changes the job if it is current`).toBe(true);
  });
});

describe('an attempt that has ended', () => {
  it('is followed by the next at once, with its VMs torn down and its cause in the ledger', () => {
    const { job, effects } = transition(running, eventsFor(running, 100_000).ATTEMPT_INTERRUPTED);
    expect(effects.map(({ type }) => type)).toEqual(['TEARDOWN', 'PROVISION', 'JOB_UPDATE']);
    expect(job.ledger).toMatchObject([
      { attempt: 1, zone: PLACEMENT.zone, ranAt: 3_000, endedAt: 100_000, cause: { code: 'PREEMPTED' } },
    ]);
  });

  it('is followed by a backoff if attempts hardly ran', () => {
    const interrupted = jobAfter(
      running,
      ['ATTEMPT_INTERRUPTED', 4_000],
      ['PLACEMENT_CHOSEN', 5_000],
      ['VMS_CREATED', 6_000],
      ['REPLICA_STARTED', 7_000],
    );
    const { job, effects } = transition(interrupted, eventsFor(interrupted, 8_000).ATTEMPT_INTERRUPTED);
    expect(effects.map(({ type }) => type)).not.toContain('PROVISION');
    expect(job).toMatchObject({ status: 'QUEUED', isBackingOff: true, attempt: 3, wakeAt: 8_000 + 15_000 });
  });
});

describe('a host outside of Google that VMs did not reach before the program ran', () => {
  /** The job after attempts that ended so, as it is stored in between; `null` is an attempt that ran. */
  function afterHosts(...hosts: readonly (string | null)[]): Job {
    return hosts.reduce((job: Job, host, index) => {
      const at = (index + 1) * 1_000_000;
      const started = jobAfter(job, ['DEADLINE_PASSED', at], ['PLACEMENT_CHOSEN', at], ['VMS_CREATED', at + 1]);
      if (host === null) {
        return jobAfter(started, ['REPLICA_STARTED', at + 2], ['ATTEMPT_INTERRUPTED', at + 900_000]);
      }
      const facts = { reason: 'SERVICE_UNREACHABLE', exitCode: null, signal: null, message: 'No answer.' } as const;
      const exit = classifyExit({ ...facts, evidence: [], unreachableHost: host }, factsOf('digits'));
      const next = transition(started, { ...eventsFor(started, at + 2).REPLICA_EXITED, exit }).job;
      return parseStoredJob(JSON.stringify(next));
    }, queued);
  }

  it('ends the job as a cause of the configuration at the second VM, which names the host and NAT', () => {
    const job = afterHosts('docker.io', 'docker.io');
    expect(job).toMatchObject({ status: 'CLOSING', verdict: { state: 'FAILED', cause: { code: 'HOST_UNREACHABLE' } } });
    const { cause } = 'verdict' in job ? job.verdict : { cause: null };
    expect(cause && [classOf(cause), cause.message, remedyOf(cause)]).toEqual([
      'configuration',
      'Two VMs did not reach docker.io. No answer.',
      expect.stringMatching(/nat = true.*remote_repositories.*an index that VMs reach/),
    ]);
  });

  it.each([
    ['once', ['docker.io']],
    ['before a run of the program', ['docker.io', null, 'docker.io']],
    ['and another host', ['docker.io', 'pypi.org']],
  ])('starts a new attempt if that happened %s', (_, hosts) => {
    expect(afterHosts(...hosts)).toMatchObject({ status: 'QUEUED', attempt: hosts.length + 1 });
  });

  it('ends the job although another host was unreachable in between', () => {
    const job = afterHosts('docker.io', 'pypi.org', 'docker.io');
    expect(job).toMatchObject({ status: 'CLOSING', verdict: { cause: { code: 'HOST_UNREACHABLE' } } });
  });
});

describe('a failed placement', () => {
  it('is followed by the zones that the error recommends', () => {
    const job = { ...preparing, zones: ['z-a', 'z-b', 'z-c'] };
    const event = eventsFor(job, 5_000).PLACEMENT_FAILED;
    const { job: next, effects } = transition(job, {
      ...event,
      failure: { ...event.failure, zonesAvailable: ['z-c'] },
    });
    expect(next).toMatchObject({
      status: 'QUEUED',
      zones: ['z-c', 'z-a', 'z-b'],
      exhaustedZones: [PLACEMENT.zone],
      placementRound: 2,
    });
    expect(effects[0]).toEqual({ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 2 });
  });

  it('fails the job at once if the request was invalid', () => {
    const event = eventsFor(preparing, 5_000).PLACEMENT_FAILED;
    const cause = causeOf('CONFIGURATION_REFUSED', 'There is no machine image of that name.');
    const { job } = transition(preparing, { ...event, failure: { cause, zonesAvailable: [] } });
    expect(job).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: 'CONFIGURATION_REFUSED' } },
    });
  });

  it('is retried until maxWaitTime, and no longer', () => {
    const waiting = jobAfter(queuedJob({ maxWaitMs: 60_000 }), ['NO_PLACEMENT_LEFT', 50_000]);
    expect(waiting).toMatchObject({ isBackingOff: true, wakeAt: 60_000 });
    expect(jobAfter(waiting, ['DEADLINE_PASSED', 60_000])).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: 'MAX_WAIT_TIME_EXCEEDED' } },
    });
  });
});

describe('a program that fails', () => {
  const failure = { outcome: 'FAILED', cause: causeOf('PROGRAM_FAILED', 'It ended with status 1.') } as const;

  it('fails the job', () => {
    const event = { ...eventsFor(running, 9_000).REPLICA_EXITED, exit: failure };
    expect(transition(running, event).job).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: failure.cause },
    });
  });

  it('is restarted as often as the job allows', () => {
    const job = jobAfter(
      queuedJob({ restartsMax: 1 }),
      ['PLACEMENT_CHOSEN', 1],
      ['VMS_CREATED', 2],
      ['REPLICA_STARTED', 3],
    );
    const once = transition(job, { ...eventsFor(job, 9_000).REPLICA_EXITED, exit: failure }).job;
    expect(once).toMatchObject({ status: 'QUEUED', attempt: 2, counts: { restarts: 1, interruptions: 0 } });
    const again = jobAfter(once, ['PLACEMENT_CHOSEN', 10_000], ['VMS_CREATED', 11_000], ['REPLICA_STARTED', 12_000]);
    expect(transition(again, { ...eventsFor(again, 13_000).REPLICA_EXITED, exit: failure }).job.status).toBe('CLOSING');
  });

  it.each([
    [false, 'CLOSING'],
    [true, 'QUEUED'],
  ])('is restarted only if its diagnosis does not say that a retry cannot help: %s', (canRetryHelp, status) => {
    const job = jobAfter(
      queuedJob({ restartsMax: 1 }),
      ['PLACEMENT_CHOSEN', 1],
      ['VMS_CREATED', 2],
      ['REPLICA_STARTED', 3],
    );
    const diagnosis = { label: 'import_error', remedy: 'Add the module.', canRetryHelp };
    const exit = { outcome: 'FAILED', cause: { ...failure.cause, diagnosis } } as const;
    expect(transition(job, { ...eventsFor(job, 9_000).REPLICA_EXITED, exit }).job.status).toBe(status);
  });

  it('starts new attempts after hardware faults of a GPU, without restarts, at most two in a row', () => {
    const diagnosis = { label: 'gpu_hardware_fault', remedy: 'No action needed.', canRetryHelp: true };
    const fault = { ...causeOf('GPU_FAILED', 'The VM has 7 of its 8 GPUs.'), diagnosis };
    const exitAfter = (job: Job, cause: Cause) =>
      transition(job, {
        ...eventsFor(job, job.attempt * 1_000_000).REPLICA_EXITED,
        exit: { outcome: 'FAILED', cause },
      });
    let job: Job = running;
    for (const cause of [fault, fault, causeOf('PREEMPTED', 'It was preempted.'), fault, fault]) {
      job = exitAfter(job, cause).job;
      const at = job.attempt * 1_000_000 - 500_000;
      expect(job).toMatchObject({ status: 'QUEUED', counts: { restarts: 0 } });
      job = jobAfter(job, ['PLACEMENT_CHOSEN', at], ['VMS_CREATED', at + 1], ['REPLICA_STARTED', at + 2]);
    }
    const end = exitAfter(job, fault).job;
    const cause = { code: 'GPU_FAILED_REPEATEDLY', diagnosis: { remedy: CAUSES.GPU_FAILED_REPEATEDLY.remedy } };
    expect(end).toMatchObject({ status: 'CLOSING', verdict: { cause } });
  });
});

describe('a deadline', () => {
  it('has no effect before it has passed', () => {
    for (const job of [queued, created, running, closing]) {
      expect(jobAfter(job, ['DEADLINE_PASSED', 3_500])).toEqual(job);
    }
  });

  it('fails a job whose VMs never send a heartbeat after three attempts', () => {
    const bootOnce = (job: Job, at: number) => jobAfter(placedAt(job, at), ['DEADLINE_PASSED', at + TIMEOUTS.bootMs]);
    const twice = [1, 2].reduce((job: Job, count) => bootOnce(job, count * 2_000_000), queued);
    expect(twice).toMatchObject({ status: 'QUEUED', counts: { bootFailuresInRow: 2 } });
    expect(bootOnce(twice, 9_000_000)).toMatchObject({
      status: 'CLOSING',
      verdict: { cause: { code: 'BOOT_FAILED_REPEATEDLY' } },
    });
  });

  it('repeats the request for VMs without an answer, under the same names', () => {
    const { effects } = transition(preparing, eventsFor(preparing, 1_000 + TIMEOUTS.provisionAnswerMs).DEADLINE_PASSED);
    expect(effects).toEqual([{ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 1 }]);
  });
});

it('keeps the instances that Compute Engine created', () => {
  expect(created).toMatchObject({ instances: [INSTANCE] });
});

/** The job after its deadline has passed and its VMs were created. */
function placedAt(job: Job, at: number): Job {
  return jobAfter(job, ['DEADLINE_PASSED', at], ['PLACEMENT_CHOSEN', at], ['VMS_CREATED', at]);
}

it('keeps the newest attempts in a full ledger', () => {
  const interruptions = Array.from({ length: ATTEMPT_RECORDS_MAX + 3 }, (_, index) => (index + 1) * 10_000_000);
  const job = interruptions.reduce(
    (current: Job, at) =>
      jobAfter(placedAt(current, at), ['REPLICA_STARTED', at], ['ATTEMPT_INTERRUPTED', at + STABLE_RUN_MS]),
    queuedJob({ maxRunningMs: Number.MAX_SAFE_INTEGER }),
  );
  expect(job.ledger.map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: ATTEMPT_RECORDS_MAX }, (_, index) => index + 4),
  );
});

it.each<[string, readonly JobEventType[]]>([
  ['before it ever ran', []],
  ['before it had run for a minute', ['REPLICA_STARTED']],
])('fails a job that was interrupted repeatedly %s', (_, events) => {
  const times = Array.from({ length: INTERRUPTIONS_IN_ROW_MAX + 1 }, (_, index) => (index + 1) * 10_000_000);
  const job = times.reduce(
    (current: Job, at) =>
      jobAfter(placedAt(current, at), ...events.map((type) => [type, at] as const), [
        'ATTEMPT_INTERRUPTED',
        at + STABLE_RUN_MS - 1,
      ]),
    queuedJob({ maxRunningMs: Number.MAX_SAFE_INTEGER }),
  );
  expect(job).toMatchObject({ status: 'CLOSING', verdict: { cause: { code: 'INTERRUPTED_REPEATEDLY' } } });
});
