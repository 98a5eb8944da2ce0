import { describe, expect, it } from 'vitest';
import type { Parameter } from '#shared/domain/study.ts';
import type { EarlyStoppingDraft, StoppingDraft } from '#shared/job-file/draft/study-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkEarlyStopping, checkStoppingConditions } from '#shared/job-file/tuning/check-stopping.ts';
import { located } from '../../support/job-file/located.ts';
import { earlyStoppingDraft, STUDY_DRAFT } from '../../support/job-file/study-drafts.ts';

const RATE: Parameter = { id: 'rate', space: { kind: 'DOUBLE', min: 0, max: 1 }, scale: 'NONE', children: [] };
const CONVEX = earlyStoppingDraft('CONVEX');

function checkEarly(earlyStopping: EarlyStoppingDraft) {
  const findings = createFindings();
  const stopping = checkEarlyStopping({ ...STUDY_DRAFT, earlyStopping }, [RATE], findings);
  const codes = findings.problems.map(({ code, path }) => `${code} ${path}`);
  return { stopping, codes, warnings: findings.warnings.map(({ message }) => message) };
}

function checkWhole(more: Partial<StoppingDraft>) {
  const findings = createFindings();
  const conditions = checkStoppingConditions(more, findings);
  return { conditions, codes: findings.problems.map(({ code, path }) => `${code} ${path}`) };
}

describe('stopping trials early', () => {
  it('is null by default', () => {
    expect(checkEarlyStopping(STUDY_DRAFT, [RATE], createFindings())).toBeNull();
  });

  it.each([
    ['AUTOMATIC', { rule: 'AUTOMATIC' }],
    ['ASHA', { rule: 'ASHA' }],
    ['DECAY_CURVE', { rule: 'DECAY_CURVE', usesElapsedTime: true }],
    ['MEDIAN', { rule: 'MEDIAN', usesElapsedTime: true }],
  ] as const)('supports the rule %s', (rule, stopping) => {
    const draft = { ...earlyStoppingDraft(rule), usesElapsedTime: located(true, 'elapsed') };
    expect(checkEarly(draft)).toMatchObject({ stopping, codes: [] });
  });

  it('supports all settings of a convex curve', () => {
    const draft: EarlyStoppingDraft = {
      ...CONVEX,
      stepsMax: located(100, 'max'),
      stepsMin: located(0, 'min'),
      measurementsMin: located(5, 'measurements'),
      learningRateParameterId: located('rate', 'rate'),
      updatesAllStoppedTrials: located(true, 'updates'),
    };
    expect(checkEarly(draft)).toMatchObject({
      stopping: {
        rule: 'CONVEX',
        usesElapsedTime: false,
        stepsMax: 100,
        stepsMin: 0,
        measurementsMin: 5,
        learningRateParameterId: 'rate',
        updatesAllStoppedTrials: true,
      },
      codes: [],
    });
  });

  it.each([
    ['DECAY_CURVE', 'stopping runs as the median rule'],
    ['CONVEX', 'its settings have no effect except useElapsedDuration'],
  ] as const)('says that %s runs as the median rule', (rule, text) => {
    expect(checkEarly(earlyStoppingDraft(rule)).warnings).toEqual([expect.stringContaining(text)]);
  });

  it.each(['AUTOMATIC', 'MEDIAN', 'ASHA'] as const)('applies %s without a warning', (rule) => {
    expect(checkEarly(earlyStoppingDraft(rule)).warnings).toEqual([]);
  });

  it.each<[string, Partial<EarlyStoppingDraft>, string]>([
    ['negative steps', { stepsMin: located(-1, 'min') }, 'STOPPING_CONDITION min'],
    ['no steps', { stepsMax: located(0, 'max') }, 'STOPPING_CONDITION max'],
    [
      'a minimum above the maximum of steps',
      { stepsMin: located(9, 'min'), stepsMax: located(8, 'max') },
      'STOPPING_CONDITION min',
    ],
    ['a learning rate that is not tuned', { learningRateParameterId: located('rat', 'lr') }, 'UNKNOWN_PARAMETER lr'],
  ])('rejects %s', (_, more, code) => {
    expect(checkEarly({ ...CONVEX, ...more }).codes).toEqual([code]);
  });
});

describe('stopping the whole study', () => {
  const END = '2030-01-31T18:00:00Z';
  const limit = (more: { maxDuration?: string; endTime?: string }) => ({
    path: 'limit',
    maxDuration: more.maxDuration === undefined ? undefined : located(more.maxDuration, 'limit.maxDuration'),
    endTime: more.endTime === undefined ? undefined : located(more.endTime, 'limit.endTime'),
  });

  it('is null by default', () => {
    expect(checkStoppingConditions(undefined, createFindings())).toBeNull();
  });

  it('supports times and numbers of trials', () => {
    const { conditions, codes } = checkWhole({
      stopsRunningTrials: located(true, 'asap'),
      minimumRuntime: limit({ maxDuration: '60s' }),
      maximumRuntime: limit({ endTime: END }),
      trialsMin: located(0, 'min'),
      trialsMax: located(9, 'max'),
      trialsWithoutProgressMax: located(3, 'idle'),
      withoutProgressMax: located('1.5s', 'idleTime'),
    });
    expect(codes).toEqual([]);
    expect(conditions).toEqual({
      stopsRunningTrials: true,
      minimumRuntime: { maxMs: 60_000 },
      maximumRuntime: { endTime: END },
      trialsMin: 0,
      trialsMax: 9,
      trialsWithoutProgressMax: 3,
      withoutProgressMaxMs: 1_500,
    });
  });

  it.each<[string, Partial<StoppingDraft>, string]>([
    ['a duration without a unit', { withoutProgressMax: located('60', 'idle') }, 'INVALID_DURATION idle'],
    ['a duration of 0', { maximumRuntime: limit({ maxDuration: '0s' }) }, 'INVALID_DURATION limit.maxDuration'],
    ['a date without a time', { maximumRuntime: limit({ endTime: '2030-01-31' }) }, 'INVALID_TIME limit.endTime'],
    [
      'a date that does not exist',
      { maximumRuntime: limit({ endTime: END.replace('01', '13') }) },
      'INVALID_TIME limit.endTime',
    ],
    ['two limits', { minimumRuntime: limit({ maxDuration: '9s', endTime: END }) }, 'STOPPING_CONDITION limit.endTime'],
    [
      'a minimum above the maximum of trials',
      { trialsMin: located(3, 'min'), trialsMax: located(2, 'max') },
      'STOPPING_CONDITION min',
    ],
    ['a negative number of trials', { trialsMin: located(-1, 'min') }, 'STOPPING_CONDITION min'],
    ['a placeholder as a duration', { withoutProgressMax: located('{{IDLE}}', 'idle') }, 'PLACEHOLDER idle'],
  ])('rejects %s', (_, more, code) => {
    expect(checkWhole(more).codes).toEqual([code]);
  });
});
