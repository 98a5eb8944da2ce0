import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causeOf, EVIDENCE_LINES_MAX } from '#shared/domain/cause.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import type { Job } from '#shared/domain/job.ts';
import {
  ACCEPTED_BYTES_MAX,
  clip,
  clipLines,
  EVIDENCE_BYTES_MAX,
  EVIDENT_RECORDS_MAX,
  JOB_BYTES_MAX,
  jsonBytesOf,
  MESSAGE_BYTES_MAX,
} from '#shared/domain/job-size.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { STABLE_RUN_MS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { enforceSizeLimit } from '#shared/use-cases/intake/new-job.ts';
import { jobsWithEvents, makeCurrent } from '../../support/domain/event-arbitrary.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

/** Takes six bytes of JSON, the maximum for one character. */
const LARGEST_CHARACTER = '\u0001';
const LARGEST_CAUSE = causeOf(
  'PREEMPTED',
  LARGEST_CHARACTER.repeat(10_000),
  Array.from({ length: EVIDENCE_LINES_MAX }, () => LARGEST_CHARACTER.repeat(2_000)),
);
const REPLICAS_MAX = 1_000;

/** The event with the largest possible cause. */
function withLargestCause(event: JobEvent): JobEvent {
  return JSON.parse(JSON.stringify(event), (_, value) =>
    value?.evidence === undefined ? value : { ...value, ...LARGEST_CAUSE, code: value.code },
  );
}

/** The largest job that intake accepts, with the maximum number of VMs. */
function largestJob(): Job {
  const job = queuedJob({ maxRunningMs: Number.MAX_SAFE_INTEGER, restartsMax: 100 });
  const [group] = job.spec.replicaGroups;
  const replicaGroups = [group, { ...group, role: 'worker', count: REPLICAS_MAX - 1 }] as const;
  const large = { ...job, jobId: 'J'.repeat(128), spec: { ...job.spec, replicaGroups } };
  const bytesLeft = ACCEPTED_BYTES_MAX - jsonBytesOf(large) - 3;
  return { ...large, source: { ...large.source, uri: large.source.uri + 'x'.repeat(bytesLeft) } };
}

const instancesOf = (job: Job) =>
  Array.from({ length: REPLICAS_MAX }, (_, index) => {
    const id = { role: index === 0 ? 'master' : 'worker', index } as const;
    return { ...id, vmName: vmNameOf(job.jobId, job.attempt, id), instanceId: '9'.repeat(20) };
  });

/** The job after an attempt that runs with all VMs and is interrupted with the largest cause. */
function interruptAttempt(job: Job, at: number): Job {
  const placed = jobAfter(job, ['DEADLINE_PASSED', at], ['PLACEMENT_CHOSEN', at]);
  const created = { ...eventsFor(placed, at).VMS_CREATED, instances: instancesOf(placed) };
  const running = jobAfter(transition(placed, created).job, ['REPLICA_STARTED', at]);
  expect(jsonBytesOf(running)).toBeLessThanOrEqual(JOB_BYTES_MAX);
  const lost = { ...eventsFor(running, at + STABLE_RUN_MS).ATTEMPT_INTERRUPTED, cause: LARGEST_CAUSE };
  return transition(running, lost).job;
}

describe('the stored job', () => {
  it('stays below the limit of the store at its largest', () => {
    const largest = enforceSizeLimit(largestJob());
    expect(largest).toHaveProperty('limited');
    let job: Job = 'limited' in largest ? largest.limited : queuedJob();
    for (let count = 1; count <= 60; count += 1) {
      job = interruptAttempt(job, count * 10_000_000);
      expect(jsonBytesOf(job), `after ${count} attempts`).toBeLessThanOrEqual(JOB_BYTES_MAX);
    }
    const placed = jobAfter(job, ['DEADLINE_PASSED', 10 ** 9], ['PLACEMENT_CHOSEN', 10 ** 9]);
    const exit = { outcome: 'FAILED', cause: { ...LARGEST_CAUSE, code: 'JOB_DIR_UNWRITABLE' } } as const;
    const failed = transition(placed, { ...eventsFor(placed, 10 ** 9 + 1).REPLICA_EXITED, exit }).job;
    expect(failed).toMatchObject({ status: 'CLOSING', verdict: { cause: { evidence: LARGEST_CAUSE.evidence } } });
    expect(jsonBytesOf(failed)).toBeLessThanOrEqual(JOB_BYTES_MAX);
  });

  it('stays below it for any events in any order', () => {
    fc.assert(
      fc.property(jobsWithEvents, ({ job, steps }) => {
        steps.reduce((before: Job, step) => {
          const { job: after } = transition(before, withLargestCause(makeCurrent(before, step)));
          expect(jsonBytesOf(after)).toBeLessThanOrEqual(JOB_BYTES_MAX);
          return after;
        }, job);
      }),
      { numRuns: 50 },
    );
  });

  it('keeps the evidence of the newest attempts, and the messages of older ones', () => {
    const cause = causeOf('PREEMPTED', 'The VM was preempted.', ['a line']);
    const lose = (job: Job, at: number) => {
      const running = jobAfter(
        job,
        ['DEADLINE_PASSED', at],
        ['PLACEMENT_CHOSEN', at],
        ['VMS_CREATED', at],
        ['REPLICA_STARTED', at],
      );
      return transition(running, { ...eventsFor(running, at + STABLE_RUN_MS).ATTEMPT_INTERRUPTED, cause }).job;
    };
    const times = Array.from({ length: EVIDENT_RECORDS_MAX + 2 }, (_, index) => (index + 1) * 10_000_000);
    const { ledger } = times.reduce(lose, queuedJob({ maxRunningMs: Number.MAX_SAFE_INTEGER }));
    const old = { ...cause, evidence: [] };
    expect(ledger.map((record) => record.cause)).toEqual([old, old, ...Array(EVIDENT_RECORDS_MAX).fill(cause)]);
  });
});

describe('a cause', () => {
  it('has a message and evidence of bounded size, newest lines last', () => {
    expect(jsonBytesOf(LARGEST_CAUSE.message)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX);
    expect(jsonBytesOf(LARGEST_CAUSE.evidence)).toBeLessThanOrEqual(EVIDENCE_BYTES_MAX + 2);
    expect(causeOf('PREEMPTED', 'Short.', ['one', 'two'])).toEqual({
      code: 'PREEMPTED',
      message: 'Short.',
      evidence: ['one', 'two'],
    });
  });

  it('is truncated between characters, with an ellipsis', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 10, max: 80 }), (text, bytesMax) => {
        const clipped = clip(text, bytesMax);
        expect(jsonBytesOf(clipped)).toBeLessThanOrEqual(bytesMax);
        expect(clipped === text || (clipped.endsWith('…') && text.startsWith(clipped.slice(0, -1)))).toBe(true);
        expect(clipped.isWellFormed()).toBe(true);
      }),
    );
  });

  it('keeps the end of evidence that is too large', () => {
    expect(clipLines(['first', 'second', 'third'], 18)).toEqual(['second', 'third']);
    expect(clipLines(['first', 'a very long line'], 12)).toEqual(['a very…']);
    expect(clipLines([], 12)).toEqual([]);
  });
});

describe('intake', () => {
  it('rejects a job that exceeds the size limit', () => {
    const job = largestJob();
    const larger = { ...job, source: { ...job.source, uri: `${job.source.uri}xxxx` } };
    expect(enforceSizeLimit(larger)).toMatchObject({ problem: { code: 'JOB_TOO_LARGE' } });
  });

  it('truncates warnings to the size limit, and counts those omitted', () => {
    const warning = { code: 'W', message: 'm'.repeat(1_000), remedy: 'r' };
    const limited = enforceSizeLimit({ ...queuedJob(), warnings: Array.from({ length: 100 }, () => warning) });
    const warnings = 'limited' in limited ? limited.limited.warnings : [];
    expect(warnings.length).toBeGreaterThan(50);
    expect(warnings.at(-1)).toMatchObject({
      code: 'TOO_MANY_FINDINGS',
      message: `${100 - warnings.length + 1} more warnings were omitted because of their size.`,
    });
  });
});
