import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { trialViewSchema } from '#shared/protocol/tuning-view.ts';
import { viewTrial } from '#shared/views/trial-view.ts';
import { viewTuning } from '#shared/views/tuning-view.ts';
import { jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import {
  closedTuning,
  runningTrial,
  STUDY,
  searchingTuning,
  succeededTrial,
} from '../../support/domain/example-tuning.ts';

const NOW = 600_000;
const waitingJob = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['PLACEMENT_FAILED', 2_000]);
const runningJob = jobAfter(
  queuedJob(),
  ['PLACEMENT_CHOSEN', 1_000],
  ['VMS_CREATED', 2_000],
  ['REPLICA_STARTED', 3_000],
);

function runningOf(...since: readonly number[]) {
  return since.map((at, index) => ({
    ordinal: index + 1,
    jobId: `digits_trial_${index + 1}`,
    since: at,
    checkedAt: at,
    isStopping: false,
    lostBefore: 0,
  }));
}

const view = (tuning: Parameters<typeof viewTuning>[0], facts: Partial<Parameters<typeof viewTuning>[1]> = {}) =>
  jobViewSchema.parse(viewTuning(tuning, { best: null, jobs: [], now: NOW, ...facts }));

describe('the view of a tuning', () => {
  it('is that of a job, with the search in addition', () => {
    const best = viewTrial(succeededTrial(3, 0.9), { study: STUDY, now: NOW });
    expect(view(searchingTuning(), { best })).toMatchObject({
      jobId: 'digits',
      state: 'QUEUED',
      startTime: null,
      machines: [{ role: 'master', machineType: 'n1-standard-4' }],
      tuning: { metricId: 'accuracy', goal: 'MAXIMIZE', trialsMax: 10, best: { trialId: '3', objective: 0.9 } },
      trial: null,
    });
    expect(view(closedTuning())).toMatchObject({
      state: 'CANCELLED',
      endTime: '1970-01-01T00:00:02.000Z',
      cause: { code: 'CANCELLED_BY_USER' },
      tuning: { stopReason: 'CANCELLED', forecast: null },
    });
  });

  it('adds what running trials have cost so far to the price of those that have ended', () => {
    const spent = view(searchingTuning({ spentUsd: 2 })).price;
    const both = view(searchingTuning({ spentUsd: 2 }), { jobs: [runningJob, runningJob] }).price;
    expect(spent.totalUsd).toBe(2);
    const hours = (NOW - 1_000) / 3_600_000;
    expect(both.totalUsd).toBeCloseTo(2 + 2 * hours * (spent.perHourUsd ?? 0), 6);
  });

  it('has a reason for waiting only if all running trials wait for VMs', () => {
    expect(view(searchingTuning(), { jobs: [waitingJob, waitingJob] }).waitingFor?.code).toBe('STOCKOUT');
    expect(view(searchingTuning(), { jobs: [waitingJob, runningJob] }).waitingFor).toBeNull();
    expect(view(searchingTuning()).waitingFor).toBeNull();
  });

  it('names the rule of early stopping that is applied', () => {
    const ruleOf = (earlyStopping: (typeof STUDY)['earlyStopping']) =>
      view(searchingTuning({ study: { ...STUDY, earlyStopping } })).tuning?.earlyStopping;
    expect(ruleOf(null)).toBeNull();
    expect(ruleOf({ rule: 'DECAY_CURVE', usesElapsedTime: false })).toBe('MEDIAN');
    expect(ruleOf({ rule: 'ASHA' })).toBe('ASHA');
  });
});

describe('the forecast', () => {
  const counts = { succeeded: 4, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0 };
  /** Four of ten trials have ended in 240 s, two at a time: 120 s each. Two started just now. */
  const tuning = searchingTuning({
    counts,
    firstTrialAt: NOW - 240_000,
    running: runningOf(NOW, NOW),
    spentUsd: 0.4,
    suggestedCount: 6,
  });

  it('continues at the pace and the cost of the trials that have ended', () => {
    expect(view(tuning).tuning?.forecast).toEqual({
      endTime: new Date(NOW + 360_000).toISOString(),
      totalUsd: expect.closeTo(1, 9),
    });
  });

  it('counts what running trials have done already', () => {
    const halfway = {
      ...tuning,
      firstTrialAt: NOW - 300_000,
      running: runningOf(NOW - 60_000, NOW - 60_000),
    };
    expect(view(halfway).tuning?.forecast?.endTime).toBe(new Date(NOW + 300_000).toISOString());
  });

  it('is not more than the limit on the cost', () => {
    const limited = { ...tuning, study: { ...STUDY, maxCostUsd: 0.7 } };
    expect(view(limited).tuning?.forecast?.totalUsd).toBe(0.7);
  });

  it('exists from the end of the first trial to the end of the search', () => {
    expect(view(searchingTuning({ firstTrialAt: 1 })).tuning?.forecast).toBeNull();
    expect(view({ ...tuning, stopReason: 'NO_PROGRESS' }).tuning?.forecast).toBeNull();
  });
});

describe('the view of a trial', () => {
  const viewOf = (...input: Parameters<typeof viewTrial>) => trialViewSchema.parse(viewTrial(...input));
  const [running] = runningOf(1_000);

  it('is REQUESTED, ACTIVE or STOPPING until it has ended', () => {
    const facts = { study: STUDY, running, now: NOW };
    expect(viewOf(runningTrial(1), facts).state).toBe('REQUESTED');
    expect(viewOf(runningTrial(1), { ...facts, job: waitingJob }).state).toBe('REQUESTED');
    expect(viewOf(runningTrial(1), { ...facts, job: runningJob })).toMatchObject({
      state: 'ACTIVE',
      startTime: '1970-01-01T00:00:03.000Z',
      endTime: null,
    });
    const stopping = running && { ...running, isStopping: true };
    expect(viewOf(runningTrial(1), { ...facts, running: stopping, job: runningJob }).state).toBe('STOPPING');
  });

  it('has the last measurement and the cost so far of a trial that runs', () => {
    const last = { step: 4, elapsedMs: 1, values: { accuracy: 0.25 } };
    const shown = viewOf(runningTrial(1), { study: STUDY, running, job: runningJob, last, now: NOW });
    expect(shown).toMatchObject({ objective: 0.25, step: 4, costUsd: expect.any(Number) });
    const broken = { ...last, values: { accuracy: 'NaN' as const } };
    expect(viewOf(runningTrial(1), { study: STUDY, last: broken, now: NOW }).objective).toBeNull();
  });

  it('says in one sentence why a trial has no objective', () => {
    const cause = causeOf('PROGRAM_FAILED', 'The program ended with exit code 1.');
    const facts = { study: STUDY, now: NOW };
    const infeasible = { kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: 'It was NaN.' } as const;
    expect(viewOf(runningTrial(1, { outcome: infeasible }), facts)).toMatchObject({
      state: 'INFEASIBLE',
      reason: 'It was NaN.',
    });
    expect(viewOf(runningTrial(2, { outcome: { kind: 'FAILED', cause }, repeats: 1 }), facts)).toMatchObject({
      state: 'FAILED',
      reason: cause.message,
      repeats: '1',
    });
    expect(viewOf(succeededTrial(1, 0.5), facts)).toMatchObject({ state: 'SUCCEEDED', reason: null, step: 9 });
  });
});
