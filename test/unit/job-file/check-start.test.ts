import { describe, expect, it } from 'vitest';
import { describeTuningPlan } from '#cli/render/describe-tuning-plan.ts';
import { describePlan, toJson } from '#cli/render/describe-validation.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { validateJobFile } from '#shared/job-file/validate-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const jobFile = (tune: string, fallback = '0.01') => `name: search
module: trainer.task
packages: [gs://lab/t.tar.gz]
tune:
  metric: accuracy
  trials: 3
  ${tune}
  parameters:
    lr: {min: 0.0001, max: 0.1, scale: log, default: ${fallback}}
    layers: {min: 1, max: 8}
    batch: [16, 32]
    optimizer: [sgd, momentum]
    momentum: {min: 0.5, max: 0.99, when: {optimizer: momentum}}
`;

function check(tune: string, fallback?: string) {
  const { draft } = readJobFile(jobFile(tune, fallback), { fileName: 'job.yaml' });
  if (draft === null) {
    throw new Error('The file is in no known format.');
  }
  const { problems, warnings, spec } = checkJob(draft, CONTEXT);
  const findings = [...problems, ...warnings];
  return {
    codes: findings.map(({ code, path }) => `${code} ${path}`),
    texts: findings.map(({ message, remedy }) => `${message} ${remedy}`),
    spec,
  };
}

describe('the values of the first trials', () => {
  it('are read as the values of their parameters, and shown before the tuning is submitted', () => {
    const { codes, spec } = check('start: [{lr: 1e-3, layers: 3, batch: 32}, {optimizer: momentum, momentum: 0.9}]');
    expect(codes).toEqual([]);
    expect(spec?.study?.start).toEqual([
      { lr: 0.001, layers: 3, batch: 32 },
      { optimizer: 'momentum', momentum: 0.9 },
    ]);
    expect(spec && describeTuningPlan(spec, { hasTimeLimit: true })).toContain(
      '  Tries first: lr=0.001 layers=3 batch=32; optimizer=momentum momentum=0.9',
    );
  });

  it('are shown by validate', () => {
    const source = jobFile('start: [{lr: 0.001}]');
    const validation = validateJobFile(source, { fileName: 'job.yaml', context: CONTEXT });
    const { plan } = validation;
    expect(plan && describePlan({ ...validation, plan })).toContain('           Tries first: lr=0.001');
    expect(toJson('job.yaml', validation)).toMatchObject({ start: [{ lr: 0.001 }] });
  });

  it('do not exist in a study without them', () => {
    expect(check('parallel: 1').spec?.study).not.toHaveProperty('start');
    expect(check('start: []').spec?.study).not.toHaveProperty('start');
  });

  it.each<[string, string, readonly [string, string]]>([
    [
      'above the range',
      '{lr: 5}',
      ['PARAMETER_VALUE tune.start[0].lr', 'which is not a value of "lr": DOUBLE from 0.0001'],
    ],
    ['not an integer', '{layers: 2.5}', ['PARAMETER_VALUE tune.start[0].layers', 'INTEGER from 1 to 8']],
    ['not in the list', '{batch: 64}', ['PARAMETER_VALUE tune.start[0].batch', 'not a value of "batch": 16, 32']],
    ['not a category', '{optimizer: adam}', ['PARAMETER_VALUE tune.start[0].optimizer', 'sgd, momentum']],
    ['of no parameter', '{layer: 2}', ['UNKNOWN_PARAMETER tune.start[0].layer', 'Did you mean "layers"?']],
    ['without its condition', '{momentum: 0.9}', ['PARAMETER_VALUE tune.start[0].momentum', 'on which it depends']],
    [
      'against its condition',
      '{optimizer: sgd, momentum: 0.9}',
      ['PARAMETER_VALUE tune.start[0].momentum', 'Give the value for which "momentum" is used'],
    ],
  ])('are rejected if one is %s', (_, entry, [code, text]) => {
    const { codes, texts, spec } = check(`start: [${entry}]`);
    expect([codes, texts[0], spec]).toEqual([[code], expect.stringContaining(text), null]);
  });

  it('are rejected if they are more than the trials', () => {
    const { codes } = check('start: [{lr: 0.01}, {lr: 0.02}, {lr: 0.03}, {lr: 0.04}]');
    expect(codes).toEqual(['START_ABOVE_MAX_TRIALS tune.start[3]']);
  });
});

describe('a default', () => {
  it('is a value of its parameter', () => {
    expect(check('parallel: 1').spec?.study?.parameters[0]).toMatchObject({ id: 'lr', default: 0.01 });
    expect(check('parallel: 1', '0.2').codes).toEqual(['PARAMETER_VALUE tune.parameters.lr.default']);
    expect(check('parallel: 1').spec?.study?.parameters[1]).not.toHaveProperty('default');
  });
});
