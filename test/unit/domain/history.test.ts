import { describe, expect, it } from 'vitest';
import { inStateMsOf, JOB_HISTORY_ENTRIES_MAX, submittedEntry } from '#shared/domain/history.ts';
import type { Job } from '#shared/domain/job.ts';
import { jsonBytesOf } from '#shared/domain/job-size.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { transitionTuning } from '#shared/tuning/rules/transition.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { searchingTuning } from '../../support/domain/example-tuning.ts';

const running = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 61_000]);
const last = ({ history }: Pick<Job, 'history'>) => history.at(-1);

describe('the history of a job', () => {
  it('has every event that changed it, with the time that it was in the state before', () => {
    const closed = jobAfter(
      running,
      ['ATTEMPT_INTERRUPTED', 100_000],
      ['CANCEL_REQUESTED', 130_000],
      ['VMS_GONE', 135_000],
    );
    expect(closed.history.map((entry) => [entry.event, entry.from, entry.to, inStateMsOf(entry), entry.cause])).toEqual(
      [
        ['PLACEMENT_CHOSEN', 'QUEUED', 'PREPARING', null, null],
        ['VMS_CREATED', 'PREPARING', 'PREPARING', 1_000, null],
        ['REPLICA_STARTED', 'PREPARING', 'RUNNING', 60_000, null],
        ['ATTEMPT_INTERRUPTED', 'RUNNING', 'QUEUED', 39_000, 'PREEMPTED'],
        ['CANCEL_REQUESTED', 'QUEUED', 'CLOSING', 30_000, 'CANCELLED_BY_USER'],
        ['VMS_GONE', 'CLOSING', 'CANCELLED', 5_000, 'CANCELLED_BY_USER'],
      ],
    );
  });

  it('names the attempt that was interrupted and its zone, not the next one', () => {
    const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', 100_000]);
    expect(interrupted.attempt).toBe(2);
    expect(last(interrupted)).toMatchObject({ attempt: 1, placementRound: 1, zone: 'us-central1-a' });
  });

  it('says which replica a shell was opened in, and by whom, and that changes nothing else', () => {
    const event = { ...eventsFor(running, 70_000).SHELL_OPENED, by: 'ada@example.com' };
    const { job, effects } = transition(running, event);
    expect([{ ...job, history: [] }, effects]).toEqual([{ ...running, history: [] }, []]);
    expect(last(job)).toMatchObject({ event: 'SHELL_OPENED', by: 'ada@example.com', replica: 'master-0' });
  });

  it('has nothing of a deadline that only had the job re-checked', () => {
    const queued = queuedJob();
    const rechecked = jobAfter(queued, ['DEADLINE_PASSED', queued.wakeAt]);
    expect(rechecked).toEqual({ ...queued, wakeAt: expect.any(Number) });
  });

  it('has the reason for which a job waits once, however often it is tried again, and who submitted it', () => {
    const submitted = submittedEntry('QUEUED', { at: 0, by: 'ada@example.com' });
    let job: Job = { ...queuedJob(), history: [submitted] };
    for (let at = 1_000; at < 2_000_000; at += 20_000) {
      job = jobAfter(job, ['NO_PLACEMENT_LEFT', at], ['DEADLINE_PASSED', at + 15_000]);
    }
    expect(job.history).toEqual([submitted, expect.objectContaining({ event: 'NO_PLACEMENT_LEFT', at: 1_000 })]);
  });

  it('is bounded, whatever happens how often, and however long the name of the user is', () => {
    const submitted = submittedEntry('QUEUED', { at: 0, by: 'ada@example.com' });
    let job: Job = { ...running, history: [submitted, ...running.history] };
    for (let at = 70_000; at < 70_000 + 2 * JOB_HISTORY_ENTRIES_MAX; at += 1) {
      job = transition(job, { ...eventsFor(job, at).SHELL_OPENED, by: '"'.repeat(10_000) }).job;
    }
    expect(job.history).toHaveLength(JOB_HISTORY_ENTRIES_MAX);
    expect(jsonBytesOf(job.history)).toBeLessThan(40_000);
    expect(job.history[0]).toBe(submitted);
    // The state was entered long before the first entry that is left.
    expect(last(job)).toMatchObject({ since: 61_000 });
  });

  it.each([
    ['goes back', 50_000, 0],
    ['has no valid time', Number.NaN, null],
  ])('has no negative time if the clock %s', (_, at, expected) => {
    const { job } = transition(running, eventsFor(running, at).SHELL_OPENED);
    expect(job.history.map(inStateMsOf).at(-1)).toBe(expected);
  });

  it('of a record without one begins with the next event', () => {
    const { history } = jobAfter({ ...running, history: [] }, ['CANCEL_REQUESTED', 90_000]);
    expect(history).toEqual([expect.objectContaining({ from: 'RUNNING', to: 'CLOSING', since: null })]);
  });
});

describe('the history of a tuning', () => {
  it('has what changed its state, and not what happened to its trials', () => {
    const base = { tuningId: 'digits', at: 5_000 };
    const values = [{ rate: 0.1 }, { rate: 0.2 }];
    const chosen = transitionTuning(searchingTuning(), {
      ...base,
      ...{ type: 'VALUES_CHOSEN', eventId: 'chosen-1', from: 1, values },
    }).tuning;
    const event = { ...base, type: 'CANCEL_REQUESTED', eventId: 'cancel-requested', by: 'ada@example.com' } as const;
    expect(transitionTuning(chosen, event).tuning.history).toEqual([
      expect.objectContaining({ from: 'SEARCHING', to: 'CLOSING', by: 'ada@example.com', cause: 'CANCELLED_BY_USER' }),
    ]);
  });
});
