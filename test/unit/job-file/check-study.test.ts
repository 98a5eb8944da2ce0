import { describe, expect, it } from 'vitest';
import { type Dialect, EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import type { MetricDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkStudy } from '#shared/job-file/tuning/check-study.ts';
import { located } from '../../support/job-file/located.ts';
import { doubleDraft, metricDraft, STUDY_DRAFT } from '../../support/job-file/study-drafts.ts';

const STUDY = {
  metrics: [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }],
  algorithm: 'BAYESIAN',
  trialsMax: 20,
  parallelTrialsMax: 4,
  failedTrialsMax: null,
  earlyStopping: null,
  stoppingConditions: null,
  measurement: 'LAST',
  parameters: [{ id: 'rate', space: { kind: 'DOUBLE', min: 0.1, max: 1 }, scale: 'NONE', children: [] }],
  resumeJobId: null,
  maxCostUsd: null,
};

function check(study: Partial<StudyDraft>, dialect: Dialect = 'ai-platform') {
  const findings = createFindings();
  const found = checkStudy({ ...EMPTY_DRAFT, dialect, study: { ...STUDY_DRAFT, ...study } }, findings);
  return {
    study: found,
    codes: [...findings.problems, ...findings.warnings].map(({ code, path }) => `${code} ${path}`),
  };
}

function metric(more: Partial<MetricDraft>) {
  return { metrics: [{ ...metricDraft('accuracy'), ...more }] };
}

describe('checkStudy', () => {
  it('returns null without a study', () => {
    expect(checkStudy(EMPTY_DRAFT, createFindings())).toBeNull();
  });

  it.each(['ai-platform', 'vertex-ai', 'dropforge'] as const)('accepts a study of %s', (dialect) => {
    expect(check({}, dialect)).toEqual({ study: STUDY, codes: [] });
  });

  it.each([
    ['ALGORITHM_UNSPECIFIED', 'BAYESIAN'],
    ['RANDOM_SEARCH', 'RANDOM'],
  ])('maps the algorithm %s to %s', (word, algorithm) => {
    expect(check({ algorithm: located(word, 'algorithm') }).study?.algorithm).toBe(algorithm);
  });

  it('accepts population based training, and warns that Bayesian optimization runs in its place', () => {
    const { study, codes } = check({ algorithm: located('POPULATION_BASED_TRAINING', 'algorithm') });
    expect(study?.algorithm).toBe('BAYESIAN');
    expect(codes).toEqual(['REPLACED_ALGORITHM algorithm']);
  });

  it.each([
    ['MEASUREMENT_SELECTION_TYPE_UNSPECIFIED', 'LAST'],
    ['LAST_MEASUREMENT', 'LAST'],
    ['BEST_MEASUREMENT', 'BEST'],
  ])('maps %s to the %s measurement', (word, measurement) => {
    expect(check({ measurement: located(word, 'measurement') }).study?.measurement).toBe(measurement);
  });

  it.each<[string, Partial<StudyDraft>, string]>([
    ['algorithm', { algorithm: located('GRID', 'algorithm') }, 'UNKNOWN_ALGORITHM algorithm'],
    ['algorithm, a placeholder', { algorithm: located('$ALGORITHM', 'algorithm') }, 'PLACEHOLDER algorithm'],
    ['measurement', { measurement: located('FIRST', 'measurement') }, 'UNKNOWN_MEASUREMENT measurement'],
    ['job to resume', { resumeJobId: located('a job', 'resume') }, 'INVALID_JOB_ID resume'],
  ])('rejects an unknown %s', (_, study, code) => {
    expect(check(study)).toEqual({ study: null, codes: [code] });
  });

  it('suggests a similar value', () => {
    const findings = createFindings();
    const study = { ...STUDY_DRAFT, algorithm: located('GRIDSEARCH', 'algorithm') };
    checkStudy({ ...EMPTY_DRAFT, study }, findings);
    expect(findings.problems[0]?.remedy).toContain('Did you mean "GRID_SEARCH"?');
  });

  it('rejects a DOUBLE parameter in a grid search, at any depth', () => {
    const algorithm = located('GRID_SEARCH', 'algorithm');
    const integer = { ...doubleDraft('n', 1, 3), kind: located('INTEGER', 'n.type') };
    const parent = {
      ...integer,
      children: [{ path: 'n.c', parentValues: [located('1', 'n.c.v')], parameter: doubleDraft('rate', 0, 1) }],
    };
    expect(check({ algorithm }).codes).toEqual(['GRID_OF_DOUBLES algorithm']);
    expect(check({ algorithm, parameters: [parent] }).codes).toEqual(['GRID_OF_DOUBLES algorithm']);
    expect(check({ algorithm, parameters: [integer] }).study?.algorithm).toBe('GRID');
  });

  it.each<[string, readonly [number, number], readonly string[]]>([
    ['as many combinations as trials', [20, 1], []],
    ['more combinations than trials', [21, 1], ['GRID_ABOVE_MAX_TRIALS algorithm']],
    ['10,000 combinations', [100, 100], ['GRID_ABOVE_MAX_TRIALS algorithm']],
    ['more than any study has trials', [100, 101], ['GRID_TOO_LARGE algorithm']],
    ['a billion combinations', [1e5, 1e4], ['GRID_TOO_LARGE algorithm']],
  ])('compares a grid with its limits: %s', (_, [first, second], codes) => {
    const range = (id: string, max: number) => ({ ...doubleDraft(id, 1, max), kind: located('INTEGER', `${id}.type`) });
    const parameters = [range('a', first), range('b', second)];
    const found = check({ algorithm: located('GRID_SEARCH', 'algorithm'), parameters }).codes;
    expect(found.filter((code) => code.startsWith('GRID'))).toEqual(codes);
  });

  it.each([undefined, located('RANDOM_SEARCH', 'algorithm')])(
    'says that trials end with the combinations',
    (algorithm) => {
      const parameters = [{ ...doubleDraft('a', 1, 5), kind: located('INTEGER', 'a.type') }];
      const codes = (count: number) => check({ algorithm, parameters, maxTrials: located(count, 'max') }).codes;
      expect(codes(6)).toContain('TRIALS_ABOVE_COMBINATIONS max');
      expect(codes(5)).not.toContain('TRIALS_ABOVE_COMBINATIONS max');
    },
  );

  it('counts the combinations of conditional parameters once for each value that activates them', () => {
    const range = (id: string, max: number) => ({ ...doubleDraft(id, 1, max), kind: located('INTEGER', `${id}.type`) });
    const child = {
      path: 'a.c',
      parentValues: [located('2', 'a.c.v'), located('3', 'a.c.v')],
      parameter: range('b', 7),
    };
    const parameters = [{ ...range('a', 5), children: [child] }];
    const algorithm = located('GRID_SEARCH', 'algorithm');
    const findings = createFindings();
    checkStudy(
      { ...EMPTY_DRAFT, study: { ...STUDY_DRAFT, algorithm, parameters, maxTrials: located(16, 'max') } },
      findings,
    );
    expect(findings.warnings.map(({ message }) => message)).toEqual([
      'The grid has 17 combinations, of which only the first 16 are tried.',
    ]);
  });

  it.each([
    [20, []],
    [0.01, []],
    [0, ['INVALID_MAX_COST cost']],
    [-1, ['INVALID_MAX_COST cost']],
    [1e7, ['INVALID_MAX_COST cost']],
  ])('accepts a positive amount of US dollars as limit: %d', (cost, codes) => {
    const { study, codes: found } = check({ maxCostUsd: located(cost, 'cost') });
    expect(found).toEqual(codes);
    expect(study?.maxCostUsd ?? null).toBe(codes.length === 0 ? cost : null);
  });
});

describe('the number of trials', () => {
  const count = (value: number, path: string) => located(value, path);

  it('defaults to one, one at a time, on AI Platform', () => {
    const { study, codes } = check({ maxTrials: undefined, parallelTrials: undefined });
    expect(study).toMatchObject({ trialsMax: 1, parallelTrialsMax: 1 });
    expect(codes).toEqual(['DEFAULT_TRIALS trainingInput.hyperparameters.maxTrials']);
  });

  it('is one if it is 0, on AI Platform', () => {
    const { study, codes } = check({ maxTrials: count(0, 'max'), parallelTrials: count(0, 'parallel') });
    expect(study).toMatchObject({ trialsMax: 1, parallelTrialsMax: 1 });
    expect(codes).toEqual(['ZERO_TRIALS max', 'ZERO_TRIALS parallel']);
  });

  it('is required by Vertex AI, where 0 means missing', () => {
    const none = { maxTrials: count(0, 'maxTrialCount'), parallelTrials: undefined };
    const codes = ['MISSING_FIELD maxTrialCount', 'MISSING_FIELD parallelTrialCount'];
    expect(check({ ...none, path: 'studySpec' }, 'vertex-ai')).toEqual({ study: null, codes });
    expect(check({ ...none, path: 'hyperparameterTuningJob.studySpec' }, 'vertex-ai').codes).toEqual(
      codes.map((code) => code.replace(' ', ' hyperparameterTuningJob.')),
    );
  });

  it('limits the number of parallel trials', () => {
    const { study, codes } = check({ maxTrials: count(3, 'max'), parallelTrials: count(5, 'parallel') });
    expect(study).toMatchObject({ trialsMax: 3, parallelTrialsMax: 3 });
    expect(codes).toEqual(['PARALLEL_ABOVE_MAX parallel']);
  });

  it.each([-1, 10_001])('cannot be %d', (value) => {
    const codes = ['INVALID_TRIAL_COUNT max'];
    expect(check({ maxTrials: count(value, 'max'), parallelTrials: undefined })).toEqual({ study: null, codes });
    expect(check({ maxFailedTrials: count(value, 'failed') }).codes).toEqual(['INVALID_TRIAL_COUNT failed']);
  });

  it('in parallel is at most 100', () => {
    expect(check({ maxTrials: count(500, 'max'), parallelTrials: count(100, 'parallel') }).codes).toEqual([]);
    expect(check({ maxTrials: count(500, 'max'), parallelTrials: count(101, 'parallel') })).toEqual({
      study: null,
      codes: ['INVALID_TRIAL_COUNT parallel'],
    });
  });

  it('that may fail defaults to null if it is 0', () => {
    expect(check({ maxFailedTrials: count(0, 'failed') }).study?.failedTrialsMax).toBeNull();
    expect(check({ maxFailedTrials: count(2, 'failed') }).study?.failedTrialsMax).toBe(2);
  });
});

describe('a metric', () => {
  it('has a default name on AI Platform', () => {
    const codes = ['DEFAULT_METRIC_TAG trainingInput.hyperparameters.hyperparameterMetricTag'];
    const none = metric({ id: undefined, goal: undefined, path: 'trainingInput.hyperparameters' });
    const { study, codes: found } = check(none);
    expect(study?.metrics).toEqual([{ id: 'training/hptuning/metric', goal: 'MAXIMIZE', safety: null }]);
    expect(found).toEqual(codes);
  });

  it.each([
    ['MINIMIZE', 'MINIMIZE'],
    ['GOAL_TYPE_UNSPECIFIED', 'MAXIMIZE'],
  ])('with the goal %s is %sd', (word, goal) => {
    expect(check(metric({ goal: located(word, 'goal') })).study?.metrics[0].goal).toBe(goal);
  });

  it.each<[string, Partial<StudyDraft>, string]>([
    ['no metric', { metrics: [] }, 'METRIC_MISSING trainingInput.hyperparameters.metrics'],
    ['a missing name', metric({ id: undefined }), 'METRIC_MISSING metric.metricId'],
    ['a missing goal', metric({ goal: undefined }), 'METRIC_MISSING metric.goal'],
    ['a name of 129 characters', metric({ id: located('a'.repeat(129), 'id') }), 'INVALID_METRIC_ID id'],
    ['a reserved name', metric({ id: located('__proto__', 'id') }), 'INVALID_METRIC_ID id'],
    ['a name with a space', metric({ id: located('a b', 'id') }), 'INVALID_METRIC_ID id'],
    ['an unknown goal', metric({ goal: located('max', 'goal') }), 'UNKNOWN_GOAL goal'],
    ['a placeholder as goal', metric({ goal: located('{{GOAL}}', 'goal') }), 'PLACEHOLDER goal'],
    ['a duplicate name', { metrics: [metricDraft('loss'), metricDraft('loss')] }, 'DUPLICATE_METRIC metric.metricId'],
    [
      'a fraction above 1',
      metric({ safeTrialsFractionMin: located(1.1, 'fraction') }),
      'INVALID_SAFE_FRACTION fraction',
    ],
    ['only safety metrics', metric({ safetyThreshold: located(0, 'safe') }), 'METRIC_MISSING metric'],
    [
      'metrics whose curves would exceed a document',
      { metrics: Array.from({ length: 20 }, (_, index) => metricDraft(`${index}${'\u00e4'.repeat(120)}`)) },
      'METRICS_TOO_LARGE trainingInput.hyperparameters',
    ],
    [
      'too many metrics',
      { metrics: Array.from({ length: 21 }, (_, index) => metricDraft(`m${index}`)) },
      'TOO_MANY_METRICS trainingInput.hyperparameters.metrics',
    ],
  ])('is rejected for %s', (_, study, code) => {
    expect(check(study, 'vertex-ai')).toEqual({ study: null, codes: [code] });
  });

  it('together with others has no early stopping and no best measurement', () => {
    const metrics = [metricDraft('accuracy'), metricDraft('latency')];
    const earlyStopping = { rule: located('MEDIAN' as const, 'stopping') };
    const { study, codes } = check({ metrics, earlyStopping, measurement: located('BEST_MEASUREMENT', 'measurement') });
    expect(study).toMatchObject({ earlyStopping: null, measurement: 'LAST', metrics: { length: 2 } });
    expect(codes).toEqual(['FIELD_WITHOUT_EFFECT stopping', 'FIELD_WITHOUT_EFFECT measurement']);
  });

  it('is reported missing by its name in Dropforge’s dialect', () => {
    const codes = ['MISSING_FIELD tune.metric'];
    expect(check(metric({ id: located(' ', 'tune.metric'), path: 'tune' }), 'dropforge')).toEqual({
      study: null,
      codes,
    });
  });

  it('can be a safety metric in addition to another', () => {
    const safe = {
      ...metricDraft('memory'),
      safetyThreshold: located(3, 'x'),
      safeTrialsFractionMin: located(0.5, 'y'),
    };
    const { study, codes } = check({ metrics: [metricDraft('accuracy'), safe] }, 'vertex-ai');
    expect(study?.metrics[1]?.safety).toEqual({ threshold: 3, safeTrialsFractionMin: 0.5 });
    expect(codes).toEqual(['SAFE_FRACTION_NOT_GUARANTEED y']);
  });
});
