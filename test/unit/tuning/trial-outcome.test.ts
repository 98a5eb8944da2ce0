import { describe, expect, it } from 'vitest';
import { CAUSES, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { JobIn, Verdict } from '#shared/domain/job.ts';
import type { Metric, Study } from '#shared/domain/study.ts';
import type { Curve, MetricValue } from '#shared/tuning/trial.ts';
import { costOfObjective, measurementOf, objectiveOf, outcomeOf } from '#shared/tuning/trial-outcome.ts';
import { closedJob } from '../../support/domain/example-job.ts';
import { STUDY } from '../../support/domain/example-tuning.ts';

const SUCCEEDED: Verdict = { state: 'SUCCEEDED', cause: null };
const STOPPED: Verdict = { ...SUCCEEDED, isStoppedEarly: true };
const SIZE: Metric = { id: 'size', goal: 'MINIMIZE', safety: { threshold: 10, safeTrialsFractionMin: 0 } };

function closed(verdict: Verdict): JobIn<'CLOSED'> {
  return { ...(closedJob() as JobIn<'CLOSED'>), verdict };
}

function curveOf(...values: readonly Readonly<Record<string, MetricValue>>[]): Curve {
  const points = values.map((each, index) => ({ step: index + 1, elapsedMs: 1_000 * index, values: each }));
  return { tuningId: 'digits', ordinal: 1, attempt: 1, points };
}

const accuracies = (...values: readonly MetricValue[]) => curveOf(...values.map((accuracy) => ({ accuracy })));

type Ended = {
  readonly verdict?: Verdict;
  readonly curve?: Curve;
  readonly names?: readonly string[];
  readonly study?: Partial<Study>;
};

function outcome({ verdict = SUCCEEDED, curve, names = [], study = {} }: Ended) {
  return outcomeOf({ job: closed(verdict), curve, study: { ...STUDY, ...study }, metricNames: names });
}

describe('a trial whose program succeeded', () => {
  it('counts with its last measurement, or with its best one', () => {
    const curve = accuracies(0.5, 0.9, 0.7);
    expect(outcome({ curve })).toMatchObject({
      kind: 'SUCCEEDED',
      furtherObjectives: [],
      objective: 0.7,
      final: { step: 3 },
      isStoppedEarly: false,
    });
    expect(outcome({ curve, study: { measurement: 'BEST' } })).toMatchObject({ objective: 0.9, final: { step: 2 } });
  });

  it('is best where the metric is lowest if that is to be minimized', () => {
    const metrics: Study['metrics'] = [{ id: 'accuracy', goal: 'MINIMIZE', safety: null }];
    expect(outcome({ curve: accuracies(0.9, 0.5, 0.7), study: { measurement: 'BEST', metrics } })).toMatchObject({
      objective: 0.5,
    });
  });

  it('counts with the measurement that the study selects also if it was stopped early', () => {
    const curve = accuracies(0.5, 0.9, 0.7);
    const end = outcome({ verdict: STOPPED, curve });
    expect(end).toMatchObject({ kind: 'SUCCEEDED', objective: 0.7, final: { step: 3 }, isStoppedEarly: true });
    expect(outcome({ verdict: STOPPED, curve, study: { measurement: 'BEST' } })).toMatchObject({ objective: 0.9 });
  });

  it('says nothing about its values if it was stopped before it had reported the metric', () => {
    expect(outcome({ verdict: STOPPED })).toMatchObject({ kind: 'LOST', cause: { code: 'TRIAL_STOPPED' } });
  });

  it('is infeasible if its last value is not a finite number, unless the best counts', () => {
    const curve = accuracies(0.5, 'NaN');
    const message = 'The metric "accuracy" was NaN at step 2.';
    expect(outcome({ curve })).toEqual({ kind: 'INFEASIBLE', reason: 'NOT_FINITE', message });
    expect(outcome({ curve, study: { measurement: 'BEST' } })).toMatchObject({ kind: 'SUCCEEDED', objective: 0.5 });
    const never = accuracies('NaN', '-Infinity');
    expect(outcome({ curve: never, study: { measurement: 'BEST' } })).toMatchObject({ reason: 'NOT_FINITE' });
  });

  it('is infeasible if it never reported the metric, with the names that it reported and the nearest', () => {
    expect(outcome({ names: ['loss', 'acuracy'] })).toEqual({
      kind: 'INFEASIBLE',
      reason: 'METRIC_MISSING',
      message:
        'The program ended without reporting the metric "accuracy"; it reported "loss", "acuracy". Did you mean "acuracy"?',
    });
    expect(outcome({})).toMatchObject({ message: expect.stringContaining('it reported no metric at all.') });
  });

  it('has a message of bounded length, whatever names its program reports', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `${index}${'x'.repeat(100)}`);
    const end = outcome({ names });
    expect(end).toMatchObject({ message: expect.stringContaining('and 980 more') });
    expect(JSON.stringify(end).length).toBeLessThan(2_000);
  });

  it('is compared with a bounded number of names', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `other${index}`);
    expect(outcome({ names: [...names, 'acuracy'] })).not.toMatchObject({ message: expect.stringContaining('mean') });
  });
});

describe('a safety metric', () => {
  const metrics: Study['metrics'] = [SIZE, ...STUDY.metrics];

  it.each<[string, MetricValue, string]>([
    ['below its threshold', 9, 'SUCCEEDED'],
    ['at its threshold', 10, 'SUCCEEDED'],
    ['beyond its threshold', 10.5, 'INFEASIBLE'],
    ['not a number', 'NaN', 'INFEASIBLE'],
  ])('%s', (_, size, kind) => {
    expect(outcome({ curve: curveOf({ accuracy: 0.5, size }), study: { metrics } })).toMatchObject({ kind });
  });

  it('makes a trial unsafe with its value and its threshold', () => {
    const end = outcome({ curve: curveOf({ size: 12 }, { accuracy: 0.5 }), study: { metrics } });
    expect(end).toEqual({
      kind: 'INFEASIBLE',
      reason: 'UNSAFE',
      message: 'The safety metric "size" was 12; its threshold is 10.',
    });
  });

  it('has to be above its threshold if it is to be maximized', () => {
    const recall: Metric = { ...SIZE, goal: 'MAXIMIZE' };
    const end = outcome({ curve: curveOf({ accuracy: 0.5, size: 9 }), study: { metrics: [recall, ...STUDY.metrics] } });
    expect(end).toMatchObject({ reason: 'UNSAFE' });
  });

  it('has to be reported', () => {
    const end = outcome({ curve: accuracies(0.5), study: { metrics }, names: ['accuracy'] });
    expect(end).toMatchObject({ reason: 'METRIC_MISSING', message: expect.stringContaining('"size"') });
  });
});

describe('a trial whose job did not succeed', () => {
  const codes = Object.keys(CAUSES) as CauseCode[];

  it('has values that cannot be ranked if its loss was not finite', () => {
    const cause = causeOf('METRIC_NOT_FINITE', 'The loss was NaN.');
    const end = outcome({ verdict: { state: 'FAILED', cause }, curve: accuracies(0.5) });
    expect(end).toEqual({ kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: 'The loss was NaN.' });
  });

  it.each(codes.filter((code) => code !== 'METRIC_NOT_FINITE'))(
    'has failed only if its values or the configuration can be the reason: %s',
    (code) => {
      const cause = causeOf(code, 'It ended.');
      const isOwn = ['user', 'configuration'].includes(CAUSES[code].class);
      const end = outcome({ verdict: { state: 'FAILED', cause }, curve: accuracies(0.5) });
      expect(end).toEqual({ kind: isOwn ? 'FAILED' : 'LOST', cause });
    },
  );

  it('is lost if it was cancelled', () => {
    const cause = causeOf('CANCELLED_BY_USER', 'It was cancelled.');
    expect(outcome({ verdict: { state: 'CANCELLED', cause } })).toEqual({ kind: 'LOST', cause });
  });
});

describe('what is minimized', () => {
  it('is the objective or its negative', () => {
    const minimized = { metrics: [{ id: 'loss', goal: 'MINIMIZE', safety: null }] } as const;
    expect([costOfObjective(2, STUDY), costOfObjective(2, minimized), costOfObjective(0, STUDY)]).toEqual([-2, 2, 0]);
  });

  it('is null for a measurement without it', () => {
    expect(measurementOf(curveOf({ loss: 1 }), STUDY)).toBeNull();
    expect(objectiveOf({ step: 1, elapsedMs: 1, values: { accuracy: 'Infinity' } }, STUDY)).toBeNull();
  });
});

describe('a trial whose failure has a diagnosis', () => {
  it.each([
    ['gpu_oom', 'FAILED'],
    ['nan_loss', 'FAILED'],
    ['user_exception', 'FAILED'],
    ['network_error', 'LOST'],
    ['nccl_failure', 'LOST'],
  ])('with the label %s is %s', (label, kind) => {
    const diagnosis = { label, remedy: 'Read the log.', canRetryHelp: true };
    const cause = { ...causeOf('PROGRAM_FAILED', 'It ended.'), diagnosis };
    expect(outcome({ verdict: { state: 'FAILED', cause } })).toEqual({ kind, cause });
  });
});
