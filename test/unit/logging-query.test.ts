import { describe, expect, it } from 'vitest';
import { compileLoggingQuery } from '../support/logging/logging-query.ts';

const ENTRY = {
  severity: 'WARNING',
  labels: { job_id: 'digits_1' },
  jsonPayload: { kind: 'decision', attempt: 2, isKept: true, cause: null, causes: ['first', 'second'] },
};

/** Cloud Logging's documentation, "Logging query language". */
describe('a query of the logging query language', () => {
  it.each([
    ['severity>=WARNING', true],
    ['severity>=ERROR', false],
    ['severity=WARNING labels.job_id="DIGITS_1"', true],
    ['labels.job_id:"git" AND labels.job_id=~"^digits"', true],
    ['labels.job_id=~"^DIGITS"', false],
    ['jsonPayload.attempt>10', false],
    ['jsonPayload.attempt>=2 AND jsonPayload.isKept=true', true],
    ['jsonPayload.kind=("verdict" OR "decision")', true],
    ['jsonPayload.causes="second"', true],
    // A comparison with a missing field is false, and so is one with null.
    ['jsonPayload.none>=0', false],
    ['NOT jsonPayload.none="x"', true],
    ['jsonPayload.cause=null', false],
    // OR binds tighter than AND.
    ['severity=ERROR OR severity=WARNING AND jsonPayload.attempt=3', false],
    ['"second"', true],
    ['"third"', false],
  ])('%s: %s', (query, isMatch) => {
    expect(compileLoggingQuery(query)(ENTRY)).toBe(isMatch);
  });

  it.each([
    'severity',
    'severity!=ERROR',
    'severity>=',
    '(severity=ERROR',
    'severity=ERROR)',
    'kind=("a" OR)',
    'a "=" b',
    '"a',
  ])('%s is rejected', (query) => {
    expect(() => compileLoggingQuery(query)).toThrow();
  });
});
