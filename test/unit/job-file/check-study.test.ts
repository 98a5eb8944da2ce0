import { describe, expect, it } from 'vitest';
import { type Dialect, EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import type { MetricDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkStudy } from '#shared/job-file/tuning/check-study.ts';
import { said } from '../../support/job-file/located.ts';
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

describe('a study', () => {
  it('is none where none is asked for', () => {
    expect(checkStudy(EMPTY_DRAFT, createFindings())).toBeNull();
  });

  it.each(['ai-platform', 'vertex-ai', 'dropforge'] as const)('of %s is taken over', (dialect) => {
    expect(check({}, dialect)).toEqual({ study: STUDY, codes: [] });
  });

  it.each([
    ['ALGORITHM_UNSPECIFIED', 'BAYESIAN'],
    ['RANDOM_SEARCH', 'RANDOM'],
    ['POPULATION_BASED_TRAINING', 'POPULATION_BASED'],
  ])('with the algorithm %s searches %s', (word, algorithm) => {
    expect(check({ algorithm: said(word, 'algorithm') }).study?.algorithm).toBe(algorithm);
  });

  it.each([
    ['MEASUREMENT_SELECTION_TYPE_UNSPECIFIED', 'LAST'],
    ['LAST_MEASUREMENT', 'LAST'],
    ['BEST_MEASUREMENT', 'BEST'],
  ])('with %s counts the %s measurement', (word, measurement) => {
    expect(check({ measurement: said(word, 'measurement') }).study?.measurement).toBe(measurement);
  });

  it.each<[string, Partial<StudyDraft>, string]>([
    ['algorithm', { algorithm: said('GRID', 'algorithm') }, 'UNKNOWN_ALGORITHM algorithm'],
    ['algorithm yet', { algorithm: said('$ALGORITHM', 'algorithm') }, 'PLACEHOLDER algorithm'],
    ['measurement', { measurement: said('FIRST', 'measurement') }, 'UNKNOWN_MEASUREMENT measurement'],
    ['job to resume', { resumeJobId: said('a job', 'resume') }, 'INVALID_JOB_ID resume'],
  ])('has no such %s', (_, study, code) => {
    expect(check(study)).toEqual({ study: null, codes: [code] });
  });

  it('names the word that was probably meant', () => {
    const findings = createFindings();
    const study = { ...STUDY_DRAFT, algorithm: said('GRIDSEARCH', 'algorithm') };
    checkStudy({ ...EMPTY_DRAFT, study }, findings);
    expect(findings.problems[0]?.remedy).toContain('Did you mean "GRID_SEARCH"?');
  });

  it('on a grid has no range of real numbers, wherever it stands', () => {
    const algorithm = said('GRID_SEARCH', 'algorithm');
    const integer = { ...doubleDraft('n', 1, 3), kind: said('INTEGER', 'n.type') };
    const parent = {
      ...integer,
      children: [{ path: 'n.c', parentValues: [said('1', 'n.c.v')], parameter: doubleDraft('rate', 0, 1) }],
    };
    expect(check({ algorithm }).codes).toEqual(['GRID_OF_DOUBLES algorithm']);
    expect(check({ algorithm, parameters: [parent] }).codes).toEqual(['GRID_OF_DOUBLES algorithm']);
    expect(check({ algorithm, parameters: [integer] }).study?.algorithm).toBe('GRID');
  });
});

describe('the number of trials', () => {
  const count = (value: number, path: string) => said(value, path);

  it('is one, one at a time, where AI Platform is told nothing', () => {
    const { study, codes } = check({ maxTrials: undefined, parallelTrials: undefined });
    expect(study).toMatchObject({ trialsMax: 1, parallelTrialsMax: 1 });
    expect(codes).toEqual(['DEFAULT_TRIALS trainingInput.hyperparameters.maxTrials']);
  });

  it('is one where AI Platform is told 0', () => {
    const { study, codes } = check({ maxTrials: count(0, 'max'), parallelTrials: count(0, 'parallel') });
    expect(study).toMatchObject({ trialsMax: 1, parallelTrialsMax: 1 });
    expect(codes).toEqual(['ZERO_TRIALS max', 'ZERO_TRIALS parallel']);
  });

  it('is missed by Vertex AI, also when it is 0, at the top of the job', () => {
    const none = { maxTrials: count(0, 'maxTrialCount'), parallelTrials: undefined };
    const codes = ['MISSING_FIELD maxTrialCount', 'MISSING_FIELD parallelTrialCount'];
    expect(check({ ...none, path: 'studySpec' }, 'vertex-ai')).toEqual({ study: null, codes });
    expect(check({ ...none, path: 'hyperparameterTuningJob.studySpec' }, 'vertex-ai').codes).toEqual(
      codes.map((code) => code.replace(' ', ' hyperparameterTuningJob.')),
    );
  });

  it('bounds those at a time', () => {
    const { study, codes } = check({ maxTrials: count(3, 'max'), parallelTrials: count(5, 'parallel') });
    expect(study).toMatchObject({ trialsMax: 3, parallelTrialsMax: 3 });
    expect(codes).toEqual(['PARALLEL_ABOVE_MAX parallel']);
  });

  it.each([-1, 10_001])('cannot be %d', (value) => {
    const codes = ['INVALID_TRIAL_COUNT max'];
    expect(check({ maxTrials: count(value, 'max'), parallelTrials: undefined })).toEqual({ study: null, codes });
    expect(check({ maxFailedTrials: count(value, 'failed') }).codes).toEqual(['INVALID_TRIAL_COUNT failed']);
  });

  it('that may fail is the service’s to say where it is 0', () => {
    expect(check({ maxFailedTrials: count(0, 'failed') }).study?.failedTrialsMax).toBeNull();
    expect(check({ maxFailedTrials: count(2, 'failed') }).study?.failedTrialsMax).toBe(2);
  });
});

describe('a metric', () => {
  it('has a name of its own on AI Platform where none is given', () => {
    const codes = ['DEFAULT_METRIC_TAG trainingInput.hyperparameters.hyperparameterMetricTag'];
    const none = metric({ id: undefined, goal: undefined, path: 'trainingInput.hyperparameters' });
    const { study, codes: told } = check(none);
    expect(study?.metrics).toEqual([{ id: 'training/hptuning/metric', goal: 'MAXIMIZE', safety: null }]);
    expect(told).toEqual(codes);
  });

  it.each([
    ['MINIMIZE', 'MINIMIZE'],
    ['GOAL_TYPE_UNSPECIFIED', 'MAXIMIZE'],
  ])('with the goal %s is to be %sd', (word, goal) => {
    expect(check(metric({ goal: said(word, 'goal') })).study?.metrics[0].goal).toBe(goal);
  });

  it.each<[string, Partial<StudyDraft>, string]>([
    ['at all', { metrics: [] }, 'METRIC_MISSING trainingInput.hyperparameters.metrics'],
    ['name', metric({ id: undefined }), 'METRIC_MISSING metric.metricId'],
    ['goal', metric({ goal: undefined }), 'METRIC_MISSING metric.goal'],
    ['name without blanks', metric({ id: said('a b', 'id') }), 'INVALID_METRIC_ID id'],
    ['goal that is one', metric({ goal: said('max', 'goal') }), 'UNKNOWN_GOAL goal'],
    ['goal yet', metric({ goal: said('{{GOAL}}', 'goal') }), 'PLACEHOLDER goal'],
    [
      'name that is nobody else’s',
      { metrics: [metricDraft('loss'), metricDraft('loss')] },
      'DUPLICATE_METRIC metric.metricId',
    ],
    ['fraction above one', metric({ safeTrialsFractionMin: said(1.1, 'fraction') }), 'INVALID_SAFE_FRACTION fraction'],
    ['objective beside it', metric({ safetyThreshold: said(0, 'safe') }), 'METRIC_MISSING metric'],
    [
      'end',
      { metrics: Array.from({ length: 101 }, (_, index) => metricDraft(`m${index}`)) },
      'TOO_MANY_METRICS trainingInput.hyperparameters.metrics',
    ],
  ])('must not be without a %s', (_, study, code) => {
    expect(check(study, 'vertex-ai')).toEqual({ study: null, codes: [code] });
  });

  it('is missed in Dropforge’s own form under its name there', () => {
    const codes = ['MISSING_FIELD tune.metric'];
    expect(check(metric({ id: said(' ', 'tune.metric'), path: 'tune' }), 'dropforge')).toEqual({ study: null, codes });
  });

  it('can be kept safe beside another', () => {
    const safe = { ...metricDraft('memory'), safetyThreshold: said(3, 'x'), safeTrialsFractionMin: said(0.5, 'y') };
    expect(check({ metrics: [metricDraft('accuracy'), safe] }, 'vertex-ai').study?.metrics[1]?.safety).toEqual({
      threshold: 3,
      safeTrialsFractionMin: 0.5,
    });
  });
});
