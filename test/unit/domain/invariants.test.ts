import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Effect, JobEvent, Transition } from '#shared/domain/event.ts';
import { ATTEMPT_RECORDS_MAX, JOB_STATES, JOB_STATUSES, type Job, stateOf } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { concerning, lives } from '../../support/domain/event-arbitrary.ts';

type Step = {
  readonly before: Job;
  readonly event: JobEvent;
  readonly after: Job;
  readonly effects: readonly Effect[];
};

/** Whatever happens to whatever job: the promise is checked after every step of many random lives. */
function holds(promise: (step: Step) => void): void {
  fc.assert(
    fc.property(lives, ({ job, steps }) => {
      steps.reduce((before: Job, step) => {
        const event = deepFreeze(concerning(before, step));
        const { job: after, effects }: Transition = transition(deepFreeze(before), event);
        promise({ before, event, after, effects });
        return after;
      }, job);
    }),
    { numRuns: 300 },
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

describe('whatever happens, in any order and however often', () => {
  it('attempts and tries only go forward, by one', () => {
    holds(({ before, after }) => {
      expect(after.attempt - before.attempt).toBeOneOf([0, 1]);
      expect(after.placementRound - before.placementRound).toBeOneOf(
        after.attempt === before.attempt ? [0, 1] : [1 - before.placementRound],
      );
    });
  });

  it('a closed job stays as it is, and a verdict stands', () => {
    holds(({ before, after, effects }) => {
      if (before.status === 'CLOSED') {
        expect(after).toBe(before);
        expect(effects).toEqual([]);
      }
      if (before.status === 'CLOSING') {
        expect(after).toMatchObject({ status: expect.stringMatching(/^CLOS/), verdict: before.verdict });
      }
    });
  });

  it('every unfinished job will be looked at again', () => {
    holds(({ after }) => expect(after.status === 'CLOSED' || Number.isFinite(after.wakeAt)).toBe(true));
  });

  it('a deadline that is handled is moved on, so that it is not met for ever', () => {
    holds(({ before, event, after }) => {
      if (event.type === 'DEADLINE_PASSED' && before.status !== 'CLOSED' && event.at >= before.wakeAt) {
        expect(after.status === 'CLOSED' || after.wakeAt > before.wakeAt).toBe(true);
      }
    });
  });

  it('what is written down stays bounded', () => {
    holds(({ after }) => {
      expect(after.ledger.length).toBeLessThanOrEqual(ATTEMPT_RECORDS_MAX);
      expect(after.zones.filter((zone) => after.exhaustedZones.includes(zone)).length).toBe(
        new Set(after.exhaustedZones).size,
      );
    });
  });

  it('no attempt ends without a line in the ledger', () => {
    holds(({ before, after }) => {
      const isOver = after.attempt > before.attempt || (after.status === 'CLOSING' && before.status !== 'CLOSING');
      expect(after.ledger.length).toBe(Math.min(ATTEMPT_RECORDS_MAX, before.ledger.length + (isOver ? 1 : 0)));
      expect(isOver ? after.ledger.at(-1)?.attempt : before.attempt).toBe(before.attempt);
    });
  });

  it('what was asked for and who the job is never change', () => {
    holds(({ before, after }) => {
      for (const fact of ['jobId', 'spec', 'packages', 'source', 'warnings', 'createdAt'] as const) {
        expect(after[fact]).toBe(before[fact]);
      }
      expect([...after.zones].sort()).toEqual([...before.zones].sort());
      expect(before.firstRanAt === null || after.firstRanAt === before.firstRanAt).toBe(true);
    });
  });

  it('effects are about the job as it is afterwards', () => {
    holds(({ after, effects }) => {
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

  it('VMs are torn down whenever an attempt ends or a verdict is reached', () => {
    holds(({ before, after, effects }) => {
      const isOver = after.attempt > before.attempt || (after.status === 'CLOSING' && before.status !== 'CLOSING');
      expect(!isOver || effects.some(({ type }) => type === 'TEARDOWN')).toBe(true);
    });
  });

  it('every change that users can see is announced, once and last', () => {
    holds(({ before, after, effects }) => {
      const isVisible =
        stateOf(before) !== stateOf(after) ||
        before.attempt !== after.attempt ||
        (after.waitingFor !== null && after.waitingFor.code !== before.waitingFor?.code);
      // The same wait in other words may be news, and may not: it depends on what the words tell.
      const isReworded = after.waitingFor !== null && after.waitingFor.message !== before.waitingFor?.message;
      const announcements = effects.filter(({ type }) => type === 'JOB_UPDATE');
      const whole = { type: 'JOB_UPDATE', jobId: 'digits', state: stateOf(after), attempt: after.attempt };
      expect(announcements).toEqual(isVisible || (isReworded && announcements.length > 0) ? [whole] : []);
      expect(announcements.length > 0 ? effects.at(-1)?.type : 'JOB_UPDATE').toBe('JOB_UPDATE');
    });
  });

  it('an event that changes nothing gives back the very same job and owes nothing', () => {
    holds(({ before, after, effects }) => {
      if (JSON.stringify(before) === JSON.stringify(after)) {
        expect(after).toBe(before);
        expect(effects).toEqual([]);
      }
    });
  });

  it('the random lives lead to every status and every state, or they would prove nothing', () => {
    const statuses = new Set<string>();
    const states = new Set<string>();
    holds(({ after }) => {
      statuses.add(after.status);
      states.add(stateOf(after));
    });
    expect([...statuses].sort()).toEqual([...JOB_STATUSES].sort());
    expect([...states].sort()).toEqual([...JOB_STATES].sort());
  });
});
