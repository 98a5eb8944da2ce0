import { describe, expect, it } from 'vitest';
import type { ConditionalParameterDraft, ParameterDraft } from '#shared/job-file/draft/study-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkParameters } from '#shared/job-file/tuning/check-parameters.ts';
import { listed, located } from '../../support/job-file/located.ts';
import { doubleDraft, parameterDraft, STUDY_DRAFT } from '../../support/job-file/study-drafts.ts';

function check(...parameters: readonly ParameterDraft[]) {
  const findings = createFindings();
  const found = checkParameters({ ...STUDY_DRAFT, parameters }, 'ai-platform', findings);
  return { found, codes: [...findings.problems, ...findings.warnings].map(({ code, path }) => `${code} ${path}`) };
}

function integer(id: string, min: number, max: number): ParameterDraft {
  return { ...doubleDraft(id, min, max), kind: located('INTEGER', `${id}.type`) };
}

function list(id: string, kind: 'CATEGORICAL' | 'DISCRETE', values: readonly string[]): ParameterDraft {
  return parameterDraft(id, { kind: located(kind, `${id}.type`), values: listed(values, `${id}.values`) });
}

function scaled(parameter: ParameterDraft, scale: string): ParameterDraft {
  return { ...parameter, scale: located(scale, `${parameter.path}.scaleType`) };
}

describe('a parameter', () => {
  it.each<[ParameterDraft, object]>([
    [doubleDraft('p', -0.5, 1e-3), { kind: 'DOUBLE', min: -0.5, max: 0.001 }],
    [integer('p', 1, 50e9), { kind: 'INTEGER', min: 1, max: 50e9 }],
    [list('p', 'CATEGORICAL', ['adam', '', '1']), { kind: 'CATEGORICAL', values: ['adam', '', '1'] }],
    [list('p', 'DISCRETE', ['-1', '.5', '1e3']), { kind: 'DISCRETE', values: [-1, 0.5, 1_000] }],
  ])('has the given values', (parameter, space) => {
    expect(check(parameter)).toEqual({ found: [{ id: 'p', space, scale: 'NONE', children: [] }], codes: [] });
  });

  it.each([
    ['NONE', 'NONE'],
    ['SCALE_TYPE_UNSPECIFIED', 'NONE'],
    ['UNIT_LINEAR_SCALE', 'LINEAR'],
    ['UNIT_LOG_SCALE', 'LOG'],
    ['UNIT_REVERSE_LOG_SCALE', 'REVERSE_LOG'],
  ])('with %s has the scale %s', (word, scale) => {
    expect(check(scaled(doubleDraft('p', 0.1, 1), word)).found?.[0]?.scale).toBe(scale);
  });

  it.each<[string, ParameterDraft, string]>([
    ['name', parameterDraft('p', { ...doubleDraft('p', 0, 1), id: undefined }), 'PARAMETER_NAME_MISSING p'],
    ['placeholder as name', { ...doubleDraft('p', 0, 1), id: located('<my name>', 'p.id') }, 'PLACEHOLDER p.id'],
    ['name with a space', { ...doubleDraft('p', 0, 1), id: located('my rate', 'p.id') }, 'INVALID_PARAMETER_NAME p.id'],
    [
      'name with an equals sign',
      { ...doubleDraft('p', 0, 1), id: located('a=b', 'p.id') },
      'INVALID_PARAMETER_NAME p.id',
    ],
    ...['--rate', '-r', 'job-dir'].map((name): [string, ParameterDraft, string] => [
      `flag as name, ${name}`,
      { ...doubleDraft('p', 0, 1), id: located(name, 'p.id') },
      'INVALID_PARAMETER_NAME p.id',
    ]),
    ...['__proto__', 'constructor'].map((name): [string, ParameterDraft, string] => [
      'reserved name',
      { ...doubleDraft('p', 0, 1), id: located(name, 'p.id') },
      'INVALID_PARAMETER_NAME p.id',
    ]),
    ['missing type', parameterDraft('p'), 'PARAMETER_TYPE_MISSING p'],
    [
      'unspecified type',
      parameterDraft('p', { kind: located('PARAMETER_TYPE_UNSPECIFIED', 'p.type') }),
      'PARAMETER_TYPE_MISSING p',
    ],
    ['unknown type', { ...doubleDraft('p', 0, 1), kind: located('FLOAT', 'p.type') }, 'UNKNOWN_PARAMETER_TYPE p.type'],
    ['range without a maximum', { ...doubleDraft('p', 0, 1), max: undefined }, 'PARAMETER_BOUNDS p'],
    ['minimum above its maximum', doubleDraft('p', 1, 0), 'PARAMETER_BOUNDS p.minValue'],
    ['fractional bound of an integer', integer('p', 1, 2.5), 'PARAMETER_BOUNDS p.maxValue'],
    ['list without values', list('p', 'CATEGORICAL', []), 'PARAMETER_VALUES p'],
    ['list with a duplicate value', list('p', 'CATEGORICAL', ['a', 'b', 'a']), 'PARAMETER_VALUES p.values[2]'],
    ['list with a duplicate number', list('p', 'DISCRETE', ['1', '1.0']), 'PARAMETER_VALUES p.values[1]'],
    ['list that is not sorted', list('p', 'DISCRETE', ['1', '3', '2']), 'PARAMETER_VALUES p.values[2]'],
    ['list of booleans instead of numbers', list('p', 'DISCRETE', ['true', 'false']), 'PARAMETER_VALUES p.values[0]'],
    ['placeholder as a number', list('p', 'DISCRETE', ['1', '{{MORE}}']), 'PLACEHOLDER p.values[1]'],
    ['unknown scale', scaled(doubleDraft('p', 1, 2), 'LOG'), 'UNKNOWN_SCALE_TYPE p.scaleType'],
    [
      'logarithmic scale that includes 0',
      scaled(doubleDraft('p', 0, 2), 'UNIT_LOG_SCALE'),
      'LOG_SCALE_RANGE p.scaleType',
    ],
    [
      'logarithmic scale that includes negative numbers',
      scaled(integer('p', -1, 2), 'UNIT_REVERSE_LOG_SCALE'),
      'LOG_SCALE_RANGE p.scaleType',
    ],
  ])('cannot have a %s', (_, parameter, code) => {
    expect(check(parameter)).toEqual({ found: null, codes: [code] });
  });

  it('keeps the scale of discrete values', () => {
    const { found, codes } = check(scaled(list('p', 'DISCRETE', ['0.01', '0.1']), 'UNIT_LOG_SCALE'));
    expect({ scale: found?.[0]?.scale, codes }).toEqual({ scale: 'LOG', codes: [] });
  });

  it.each<[string, ParameterDraft, string]>([
    ['a single value', doubleDraft('p', 2, 2), 'SINGLE_VALUE p.minValue'],
    [
      'a scale of categories',
      scaled(list('p', 'CATEGORICAL', ['a']), 'UNIT_LINEAR_SCALE'),
      'SCALE_WITHOUT_EFFECT p.scaleType',
    ],
    [
      'a logarithmic scale of values that are not positive',
      scaled(list('p', 'DISCRETE', ['0']), 'UNIT_LOG_SCALE'),
      'SCALE_WITHOUT_EFFECT p.scaleType',
    ],
    [
      'bounds of a list',
      { ...list('p', 'DISCRETE', ['0']), max: located(1, 'p.maxValue') },
      'FIELD_WITHOUT_EFFECT p.maxValue',
    ],
    [
      'a list in a range',
      { ...doubleDraft('p', 0, 1), values: listed(['a'], 'p.values') },
      'FIELD_WITHOUT_EFFECT p.values',
    ],
  ])('with %s is accepted with a warning', (_, parameter, code) => {
    const { found, codes } = check(parameter);
    expect(found?.[0]?.scale).toBe('NONE');
    expect(codes).toEqual([code]);
  });

  it('can have 1,000 values', () => {
    const many = (count: number) =>
      list(
        'p',
        'DISCRETE',
        Array.from({ length: count }, (_, index) => `${index}`),
      );
    expect(check(many(1_000)).codes).toEqual([]);
    expect(check(many(1_001)).codes).toEqual(['PARAMETER_VALUES p.values[0]']);
  });

  it('with an unreadable field is not reported as incomplete as well', () => {
    const findings = createFindings();
    findings.problems.push({ code: 'WRONG_TYPE', message: '', remedy: '', path: 'p10.minValue' });
    const parameters = ['p10', 'p1'].map((id) => ({ ...doubleDraft(id, 0, 1), min: undefined }));
    expect(checkParameters({ ...STUDY_DRAFT, parameters }, 'ai-platform', findings)).toBeNull();
    expect(findings.problems.slice(1)).toMatchObject([{ code: 'PARAMETER_BOUNDS', path: 'p1' }]);
  });
});

describe('several parameters', () => {
  it.each([
    ['ai-platform', 'trainingInput.hyperparameters.params'],
    ['vertex-ai', 'trainingInput.hyperparameters.parameters'],
  ] as const)('must not be empty in %s', (dialect, path) => {
    const findings = createFindings();
    expect(checkParameters({ ...STUDY_DRAFT, line: 8, parameters: undefined }, dialect, findings)).toBeNull();
    expect(findings.problems).toMatchObject([{ code: 'NO_PARAMETERS', path, line: 8 }]);
  });

  it('have unique names', () => {
    const codes = ['DUPLICATE_PARAMETER p.parameterName'];
    expect(check(doubleDraft('p', 0, 1), doubleDraft('q', 0, 1), integer('p', 0, 1)).codes).toEqual(codes);
  });

  it('are at most 500', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => doubleDraft(`p${index}`, 0, 1));
    expect(check(...many(500)).found).toHaveLength(500);
    expect(check(...many(501)).codes).toEqual(['TOO_MANY_PARAMETERS trainingInput.hyperparameters.params']);
  });
});

describe('a conditional parameter', () => {
  const child = (parameter: ParameterDraft, ...values: readonly string[]): ConditionalParameterDraft => ({
    path: `child.${parameter.path}`,
    parentValues: listed(values, 'values'),
    parameter,
  });
  const rate = doubleDraft('rate', 0, 1);
  const optimizer = list('optimizer', 'CATEGORICAL', ['adam', 'sgd']);

  it.each<[ParameterDraft, string, string | number]>([
    [optimizer, 'sgd', 'sgd'],
    [list('n', 'DISCRETE', ['1', '2.5']), '2.50', 2.5],
    [integer('n', 1, 9), '9', 9],
  ])('is used for values of its parent', (parent, text, parsed) => {
    const { found, codes } = check({ ...parent, children: [child(rate, text)] });
    expect(codes).toEqual([]);
    expect(found?.[0]?.children).toMatchObject([{ parentValues: [parsed], parameter: { id: 'rate' } }]);
  });

  it.each<[string, ParameterDraft, readonly string[]]>([
    ['an unknown category', optimizer, ['adam', 'rmsprop']],
    ['a number that is not in the list', list('n', 'DISCRETE', ['1', '3']), ['2']],
    ['a number outside the range', integer('n', 1, 9), ['10']],
    ['a fraction', integer('n', 1, 9), ['1.5']],
    ['not a number', integer('n', 1, 9), ['one']],
    ['a value of a DOUBLE parent', doubleDraft('n', 1, 9), ['1']],
    ['no value', optimizer, []],
  ])('cannot be used for %s', (_, parent, values) => {
    const { found, codes } = check({ ...parent, children: [child(rate, ...values)] });
    const invalid = values.at(-1);
    expect(found).toBeNull();
    expect(codes).toEqual([
      invalid === undefined ? 'PARENT_VALUES child.rate' : `PARENT_VALUES values[${values.length - 1}]`,
    ]);
  });

  it('may share its name with a parameter that is never used together with it', () => {
    const apart = [child(rate, 'adam'), child(rate, 'sgd')];
    const together = [child(rate, 'adam'), child(rate, 'sgd', 'adam')];
    expect(check({ ...optimizer, children: apart }).codes).toEqual([]);
    expect(check({ ...optimizer, children: together }).codes).toEqual(['DUPLICATE_PARAMETER rate.parameterName']);
    expect(check({ ...optimizer, children: apart }, rate).codes).toEqual(['DUPLICATE_PARAMETER rate.parameterName']);
  });

  it('is validated like others, and so are its children', () => {
    const deep = { ...optimizer, children: [child(list('n', 'DISCRETE', ['1']), 'adam')] };
    const broken = {
      ...deep,
      children: [child({ ...integer('n', 1, 2), children: [child(doubleDraft('x', 2, 1), '1')] }, 'adam')],
    };
    expect(check(deep).codes).toEqual([]);
    expect(check(broken)).toEqual({ found: null, codes: ['PARAMETER_BOUNDS x.minValue'] });
  });
});
