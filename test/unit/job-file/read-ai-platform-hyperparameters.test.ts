import { describe, expect, it } from 'vitest';
import { at, fixture, PARAMS, readJob, withoutLocations } from '../../support/job-file/ai-platform-files.ts';
import { valuesOf } from '../../support/job-file/read-own-job.ts';

describe('reading AI Platform’s hyperparameters', () => {
  const STUDY = 'hyperparameters';

  it('reads every field', () => {
    const { study } = readJob(fixture('hpt-all-fields.yaml')).draft;
    expect(study).toMatchObject({
      path: 'trainingInput.hyperparameters',
      line: 9,
      metrics: [
        { path: 'trainingInput.hyperparameters', id: at('validation/loss', `${STUDY}.hyperparameterMetricTag`, 10) },
      ],
      algorithm: { value: 'RANDOM_SEARCH', line: 11 },
      maxTrials: { value: 30 },
      parallelTrials: at(3, `${STUDY}.maxParallelTrials`, 13),
      maxFailedTrials: { value: 5 },
      earlyStopping: { rule: at('AUTOMATIC', `${STUDY}.enableTrialEarlyStopping`, 15) },
      resumeJobId: { value: 'tune_before' },
    });
    expect(study?.metrics[0]?.goal?.value).toBe('MINIMIZE');
  });

  it('reads every type of parameter, with enumerations and values as written', () => {
    const parameters = readJob(fixture('hpt-all-fields.yaml')).draft.study?.parameters ?? [];
    const fields = parameters.map(({ id, kind, min, max, values, scale }) => [
      ...[id, kind, min, max, scale].map((located) => located?.value),
      values?.map(({ value }) => value),
    ]);
    expect(fields).toEqual([
      ['dropout', 'DOUBLE', 0, 0.5, 'UNIT_LINEAR_SCALE', undefined],
      ['depth', 'INTEGER', 2, 12, 'UNIT_REVERSE_LOG_SCALE', undefined],
      ['optimizer', 'CATEGORICAL', undefined, undefined, undefined, ['adam', 'sgd', '1.10', 'true']],
      ['batch_size', 'DISCRETE', undefined, undefined, 'NONE', ['16', '32.0', '64']],
    ]);
    expect(parameters.map(({ path, line }) => [path, line])).toEqual([
      [`${PARAMS}[0]`, 18],
      [`${PARAMS}[1]`, 23],
      [`${PARAMS}[2]`, 24],
      [`${PARAMS}[3]`, 25],
    ]);
  });

  it('reads bounds in every spelling of a number', () => {
    const parameters = readJob(fixture('hpt-number-as-text.yaml')).draft.study?.parameters ?? [];
    expect(parameters.map(({ min, max }) => [min?.value, max?.value])).toEqual([
      [0.001, 1],
      [0.0001, 0.01],
      [1e6, 50e9],
    ]);
  });

  it('reads a single parameter as a list of one', () => {
    const { study } = readJob(fixture('hpt-lone-param.yaml')).draft;
    expect(study?.parameters).toMatchObject([{ path: `${PARAMS}[0]`, id: { value: 'depth' } }]);
  });

  it('has a metric even if none is given', () => {
    const { metrics, parameters = [] } = readJob(fixture('hpt-no-params.yaml')).draft.study ?? {};
    expect([valuesOf(metrics), parameters]).toEqual([[{}], []]);
  });

  it.each([
    ['DISCRETE', ['1']],
    ['CATEGORICAL', ['a']],
    ['DOUBLE', ['a']],
    ['discreet', ['a']],
  ])('chooses the values of %s', (type, values) => {
    const params = `[{type: ${type}, discreteValues: [1], categoricalValues: [a]}]`;
    const { draft } = readJob(`trainingInput: {hyperparameters: {params: ${params}}}`);
    expect(draft.study?.parameters?.[0]?.values?.map(({ value }) => value)).toEqual(values);
  });

  it('has no early stopping if enableTrialEarlyStopping is false', () => {
    const { draft } = readJob('trainingInput: {hyperparameters: {enableTrialEarlyStopping: false}}');
    expect(draft.study?.earlyStopping).toBeUndefined();
  });

  it('reads the same in snake_case', () => {
    const snake = fixture('hpt-snake-case.yaml');
    const camel = new TextDecoder()
      .decode(snake)
      .replaceAll(/_([a-z])(?=\w*:)/g, (_, letter: string) => letter.toUpperCase());
    expect(withoutLocations(readJob(camel).draft)).toEqual(withoutLocations(readJob(snake).draft));
    expect(readJob(snake).draft.study?.maxTrials?.value).toBe(4);
  });
});
