import { describe, expect, it } from 'vitest';
import { jsonBytesOf } from '#shared/domain/job-size.ts';
import type { Study } from '#shared/domain/study.ts';
import { parseStoredTrial, parseStoredTuning } from '#shared/protocol/stored-tuning.ts';
import type { Curve, MetricValue, Trial, TrialOutcome } from '#shared/tuning/trial.ts';
import { outcomeOf } from '#shared/tuning/trial-outcome.ts';
import { FRONT_NUMBERS_MAX } from '#shared/tuning/tuning.ts';
import { viewTrial } from '#shared/views/trial-view.ts';
import { viewTuning } from '#shared/views/tuning-view.ts';
import { closedJob } from '../../support/domain/example-job.ts';
import { STUDY, searchingTuning, succeededTrial } from '../../support/domain/example-tuning.ts';
import { accept, TuningRun } from '../../support/domain/tuning-run.ts';

const METRICS: Study['metrics'] = [
  { id: 'accuracy', goal: 'MAXIMIZE', safety: null },
  { id: 'latency', goal: 'MINIMIZE', safety: null },
];
const MULTI: Study = { ...STUDY, metrics: METRICS };

function end(...points: readonly Readonly<Record<string, MetricValue>>[]): TrialOutcome {
  const measured = points.map((values, index) => ({ step: index + 1, elapsedMs: index, values }));
  const curve: Curve = { tuningId: 'digits', ordinal: 1, attempt: 1, points: measured };
  const job = { ...closedJob(), status: 'CLOSED', verdict: { state: 'SUCCEEDED', cause: null } };
  return outcomeOf({
    job: job as Parameters<typeof outcomeOf>[0]['job'],
    curve,
    study: MULTI,
    metricNames: ['accuracy'],
  });
}

function success(accuracy: number, latency: number): TrialOutcome {
  const final = { step: 1, elapsedMs: 1, values: { accuracy, latency } };
  return { kind: 'SUCCEEDED', objective: accuracy, furtherObjectives: [latency], final, isStoppedEarly: false };
}

const start = (facts: Partial<Study> = {}) => new TuningRun(accept({ metrics: METRICS, ...facts })).chosen(1_000);

describe('a trial with several objectives', () => {
  it('counts with the last value of each, whichever was reported last', () => {
    const values = [{ accuracy: 0.5, latency: 9 }, { accuracy: 0.7 }, { latency: 8 }];
    expect(end(...values)).toMatchObject({
      kind: 'SUCCEEDED',
      objective: 0.7,
      furtherObjectives: [8],
      final: { step: 3 },
    });
  });

  it('is infeasible if one is missing or not finite, which the message names', () => {
    expect(end({ accuracy: 0.5 })).toMatchObject({
      reason: 'METRIC_MISSING',
      message: expect.stringContaining('"latency"'),
    });
    expect(end({ accuracy: 0.5, latency: 'Infinity' })).toMatchObject({
      reason: 'NOT_FINITE',
      message: 'The metric "latency" was Infinity at step 1.',
    });
  });
});

describe('a tuning with several objectives', () => {
  it('has made progress when no earlier trial dominates a new one', () => {
    const one = start().closed(1, success(0.9, 12), 2_000);
    expect(one.closed(2, success(0.8, 14), 3_000).tuning).toMatchObject({ best: { ordinal: 1 }, front: [[-0.9, 12]] });
    const other = one.closed(2, success(0.8, 3), 3_000).tuning;
    expect(other).toMatchObject({
      best: { ordinal: 2 },
      front: [
        [-0.9, 12],
        [-0.8, 3],
      ],
    });
    const both = one.closed(2, success(0.95, 2), 3_000).tuning;
    expect(both).toMatchObject({ best: { ordinal: 2 }, front: [[-0.95, 2]] });
  });

  it('ends for lack of progress if trials only repeat what is known', () => {
    const stoppingConditions = {
      stopsRunningTrials: false,
      minimumRuntime: null,
      maximumRuntime: null,
      trialsMin: null,
      trialsMax: null,
      trialsWithoutProgressMax: 1,
      withoutProgressMaxMs: null,
    };
    const run = start({ stoppingConditions }).closed(1, success(0.9, 12), 2_000);
    expect(run.closed(2, success(0.9, 12), 3_000).tuning).toMatchObject({ stopReason: 'NO_PROGRESS' });
    expect(run.closed(2, success(0.1, 1), 3_000).tuning).toMatchObject({ stopReason: null });
  });

  it('keeps a bounded part of the front', () => {
    let run = new TuningRun(accept({ metrics: METRICS, trialsMax: 1_000, parallelTrialsMax: 1 })).chosen(1);
    for (let ordinal = 1; ordinal <= FRONT_NUMBERS_MAX; ordinal += 1) {
      run = run.closed(ordinal, success(1 / (3 * ordinal), 1 / (7 * (1_000 - ordinal))), ordinal).chosen(ordinal);
    }
    expect(run.tuning.front.length).toBeLessThanOrEqual(FRONT_NUMBERS_MAX / 2);
    expect(jsonBytesOf(run.tuning.front)).toBeLessThan(16 << 10);
  });

  it('that an older version stored has one objective', () => {
    const { front: _, ...tuning } = JSON.parse(JSON.stringify(searchingTuning()));
    expect(parseStoredTuning(JSON.stringify(tuning))).toEqual(searchingTuning());
    const trial: Trial = succeededTrial(1, 0.9);
    const { furtherObjectives: __, ...outcome } = JSON.parse(JSON.stringify(trial)).outcome;
    expect(parseStoredTrial(JSON.stringify({ ...trial, outcome }))).toEqual(trial);
  });
});

describe('the views of several objectives', () => {
  const trial = succeededTrial(3, 0.9, { outcome: success(0.9, 12) });

  it('show the value of each, and no best trial', () => {
    const shown = viewTrial(trial, { study: MULTI, now: 0 });
    expect(shown).toMatchObject({ objective: 0.9, objectives: { accuracy: 0.9, latency: 12 } });
    const tuning = searchingTuning({ study: MULTI, front: [[-0.9, 12]] });
    expect(viewTuning(tuning, { best: shown, optimal: [shown], jobs: [], now: 0 }).tuning).toMatchObject({
      best: null,
      optimal: { count: 1, trials: [{ trialId: '3' }] },
      objectives: [
        { metricId: 'accuracy', goal: 'MAXIMIZE' },
        { metricId: 'latency', goal: 'MINIMIZE' },
      ],
    });
  });

  it('of one objective have none of it', () => {
    expect(viewTrial(succeededTrial(3, 0.9), { study: STUDY, now: 0 }).objectives).toEqual({});
    const { tuning } = viewTuning(searchingTuning(), { best: null, jobs: [], now: 0 });
    expect(tuning).toMatchObject({ optimal: null, objectives: [] });
  });
});
