import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Effect, Transition } from '#shared/domain/effect.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import { ATTEMPT_RECORDS_MAX, type Job, stateOf } from '#shared/domain/job.ts';
import { JOB_STATES } from '#shared/domain/job-state.ts';
import { RULES, transition } from '#shared/domain/rules/transition.ts';
import { jobsWithEvents, makeCurrent } from '../../support/domain/event-arbitrary.ts';

type Step = {
  readonly before: Job;
  readonly event: JobEvent;
  readonly after: Job;
  readonly effects: readonly Effect[];
};

/** Checks an invariant after every event of many random sequences. */
function checkInvariant(check: (step: Step) => void, { numRuns = 300 } = {}): void {
  fc.assert(
    fc.property(jobsWithEvents, ({ job, steps }) => {
      steps.reduce((before: Job, step) => {
        const event = deepFreeze(makeCurrent(before, step));
        const { job: after, effects }: Transition = transition(deepFreeze(before), event);
        check({ before, event, after, effects });
        return after;
      }, job);
    }),
    { numRuns },
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

describe('for any events, in any order and number', () => {
  it('attempts and placement rounds only increase, by one', () => {
    checkInvariant(({ before, after }) => {
      expect(after.attempt - before.attempt).toBeOneOf([0, 1]);
      expect(after.placementRound - before.placementRound).toBeOneOf(
        after.attempt === before.attempt ? [0, 1] : [1 - before.placementRound],
      );
    });
  });

  it('a closed job and a verdict do not change', () => {
    checkInvariant(({ before, after, effects }) => {
      if (before.status === 'CLOSED') {
        expect(after).toBe(before);
        expect(effects).toEqual([]);
      }
      if (before.status === 'CLOSING') {
        expect(after).toMatchObject({ status: expect.stringMatching(/^CLOS/), verdict: before.verdict });
      }
    });
  });

  it('every unfinished job has a deadline', () => {
    checkInvariant(({ after }) => expect(after.status === 'CLOSED' || Number.isFinite(after.wakeAt)).toBe(true));
  });

  it('a deadline that was handled moves forward', () => {
    checkInvariant(({ before, event, after }) => {
      if (event.type === 'DEADLINE_PASSED' && before.status !== 'CLOSED' && event.at >= before.wakeAt) {
        expect(after.status === 'CLOSED' || after.wakeAt > before.wakeAt).toBe(true);
      }
    });
  });

  it('the size of the record is bounded', () => {
    checkInvariant(({ after }) => {
      expect(after.ledger.length).toBeLessThanOrEqual(ATTEMPT_RECORDS_MAX);
      expect(after.zones.filter((zone) => after.exhaustedZones.includes(zone)).length).toBe(
        new Set(after.exhaustedZones).size,
      );
    });
  });

  it('every attempt that ends is in the ledger', () => {
    checkInvariant(({ before, after }) => {
      const hasEnded = after.attempt > before.attempt || (after.status === 'CLOSING' && before.status !== 'CLOSING');
      expect(after.ledger.length).toBe(Math.min(ATTEMPT_RECORDS_MAX, before.ledger.length + (hasEnded ? 1 : 0)));
      expect(hasEnded ? after.ledger.at(-1)?.attempt : before.attempt).toBe(before.attempt);
    });
  });

  it('identity and specification never change', () => {
    checkInvariant(({ before, after }) => {
      for (const fact of ['jobId', 'trial', 'spec', 'packages', 'source', 'warnings', 'createdAt'] as const) {
        expect(after[fact]).toBe(before[fact]);
      }
      expect([...after.zones].sort()).toEqual([...before.zones].sort());
      expect(before.firstRanAt === null || after.firstRanAt === before.firstRanAt).toBe(true);
    });
  });

  it('effects describe the job after the event', () => {
    checkInvariant(({ after, effects }) => {
      for (const effect of effects) {
        expect(effect.jobId).toBe(after.jobId);
        if (effect.type === 'PROVISION') {
          expect(effect).toMatchObject({ attempt: after.attempt, placementRound: after.placementRound });
          expect(after.status).toBeOneOf(['QUEUED', 'PREPARING']);
        }
      }
      expect(new Set(effects.map(({ type }) => type)).size).toBe(effects.length);
    });
  });

  it('VMs are torn down when an attempt ends or a verdict is reached', () => {
    checkInvariant(({ before, after, effects }) => {
      const hasEnded = after.attempt > before.attempt || (after.status === 'CLOSING' && before.status !== 'CLOSING');
      expect(!hasEnded || effects.some(({ type }) => type === 'TEARDOWN')).toBe(true);
    });
  });

  it('a job that is asked to stop holds no failure, starts no attempt, and does not take the request back', () => {
    checkInvariant(({ before, after }) => {
      if (before.status === 'RUNNING' && before.stopRequestedAt !== null) {
        expect(after.attempt).toBe(before.attempt);
        expect(after.status).toBeOneOf(['RUNNING', 'CLOSING']);
        expect(after.status !== 'RUNNING' || after.stopRequestedAt === before.stopRequestedAt).toBe(true);
        expect(after.status !== 'RUNNING' || after.heldFailure === null).toBe(true);
      }
    });
  });

  it('the end of a trial is reported once, when its VMs are gone', () => {
    checkInvariant(({ before, after, effects }) => {
      const reports = effects.filter(({ type }) => type === 'REPORT_TRIAL');
      const isEnd = after.status === 'CLOSED' && before.status !== 'CLOSED' && after.trial !== null;
      const report = { type: 'REPORT_TRIAL', jobId: 'digits', tuningId: 'tuning', ordinal: 1 };
      expect(reports).toEqual(isEnd ? [report] : []);
    });
  });

  it('every change that users see is published once, as the last effect', () => {
    checkInvariant(({ before, after, effects }) => {
      const isVisible =
        stateOf(before) !== stateOf(after) ||
        before.attempt !== after.attempt ||
        (before.status !== 'CLOSED' && after.status === 'CLOSED' && after.kept !== null) ||
        (after.waitingFor !== null && after.waitingFor.code !== before.waitingFor?.code);
      // The same reason for waiting with another message may or may not be published, depending on its class.
      const hasOtherMessage = after.waitingFor !== null && after.waitingFor.message !== before.waitingFor?.message;
      const updates = effects.filter(({ type }) => type === 'JOB_UPDATE');
      const expected = { type: 'JOB_UPDATE', jobId: 'digits', state: stateOf(after), attempt: after.attempt };
      expect(updates).toEqual(isVisible || (hasOtherMessage && updates.length > 0) ? [expected] : []);
      expect(updates.length > 0 ? effects.at(-1)?.type : 'JOB_UPDATE').toBe('JOB_UPDATE');
    });
  });

  it('an ignored event returns the same job object and no effects', () => {
    checkInvariant(({ before, after, effects }) => {
      if (JSON.stringify(before) === JSON.stringify(after)) {
        expect(after).toBe(before);
        expect(effects).toEqual([]);
      }
    });
  });

  it('the random sequences reach every status and every state', () => {
    const statuses = new Set<string>();
    const states = new Set<string>();
    // Even 300 missed the rarest state in two of five runs.
    const numRuns = 3_000;
    checkInvariant(
      ({ after }) => {
        statuses.add(after.status);
        states.add(stateOf(after));
      },
      { numRuns },
    );
    expect([...statuses].sort()).toEqual(Object.keys(RULES).sort());
    expect([...states].sort()).toEqual([...JOB_STATES].sort());
  });
});
