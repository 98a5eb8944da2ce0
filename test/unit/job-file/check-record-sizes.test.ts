import { describe, expect, it } from 'vitest';
import type { Parameter } from '#shared/domain/study.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkRecordSizes } from '#shared/job-file/tuning/check-record-sizes.ts';
import { STUDY } from '../../support/domain/example-tuning.ts';
import { STUDY_DRAFT } from '../../support/job-file/study-drafts.ts';

function codesOf(parameters: readonly Parameter[], trialsMax = 1): readonly string[] {
  const findings = createFindings();
  checkRecordSizes(STUDY_DRAFT, { metrics: STUDY.metrics, parameters, trialsMax }, findings);
  return findings.problems.map(({ code }) => code);
}

function rates(count: number, prefix = 'rate_'): readonly Parameter[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}${index}`,
    space: { kind: 'DOUBLE', min: 0, max: 1 },
    scale: 'NONE',
    children: [],
  }));
}

function choice(values: readonly string[], children: Parameter['children'] = []): Parameter {
  return { id: 'choice', space: { kind: 'CATEGORICAL', values }, scale: 'NONE', children };
}

describe('the values of trials', () => {
  it('may be those of 500 parameters, or of 100 parameters in 10,000 trials', () => {
    expect(codesOf(rates(500))).toEqual([]);
    expect(codesOf(rates(100), 10_000)).toEqual([]);
  });

  it('may not be too large for one trial, whatever value is chosen', () => {
    expect(codesOf([choice(['a', 'x'.repeat(30_000)])])).toEqual(['VALUES_TOO_LARGE']);
  });

  it('may not be too large for all trials together', () => {
    expect(codesOf([choice(['a', 'x'.repeat(10_000)])], 1_000)).toEqual([]);
    expect(codesOf([choice(['a', 'x'.repeat(10_000)])], 10_000)).toEqual(['VALUES_TOO_LARGE']);
  });

  it('count those conditional parameters that are used together', () => {
    const branches = (parentValues: readonly (readonly string[])[]) =>
      parentValues.flatMap((values, index) =>
        rates(100, `p${index}_`).map((parameter) => ({ parentValues: values, parameter })),
      );
    expect(codesOf([choice(['a', 'b', 'c'], branches([['a'], ['b'], ['c']]))], 10_000)).toEqual([]);
    expect(codesOf([choice(['a', 'b', 'c'], branches([['a'], ['a'], ['a']]))], 10_000)).toEqual(['VALUES_TOO_LARGE']);
  });
});
