import fc from 'fast-check';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, it } from 'vitest';
import { compileFilter } from '#infra/embedded/http/list-filter.ts';

const VM = {
  name: 'df-job-a1-master-0',
  status: 'RUNNING',
  creationTimestamp: '2026-11-21T10:00:00.000Z',
  labels: { 'managed-by': 'dropforge', 'dropforge-job': 'job_1', count: '12' },
  scheduling: { preemptible: true, provisioningModel: 'SPOT' },
  disks: [{ boot: true }],
};

describe('a list filter', () => {
  it.each([
    [''],
    ['name = df-job-a1-master-0'],
    ['name="df-job-a1-master-0"'],
    ['status=RUNNING'],
    ['labels.managed-by = dropforge'],
    ['(labels.managed-by = dropforge) AND (labels.dropforge-job = "job_1")'],
    ['(labels.managed-by = dropforge) (labels.dropforge-job = "job_1")'],
    ['labels.managed-by = dropforge labels.dropforge-job = job_1'],
    ['scheduling.preemptible = true'],
    ['name eq df-.*'],
    ['name eq "df-job-.*-0"'],
    ['name ne df-other.*'],
    // The form in which gcloud writes --filter=name=df-job-a1-master-0 and status!=STOPPING.
    ['(name eq ".*\\bdf\\-job\\-a1\\-master\\-0\\b.*")(status ne STOPPING)'],
    ['(name eq df-.*) (status ne STOPPING)'],
    ['creationTimestamp > "2026-11-21"'],
    ['(status = STOPPING) OR (status = RUNNING)'],
    // OR binds tighter than AND (AIP-160).
    ['(status = RUNNING) OR (status = STAGING) AND (name ne x)'],
    ['((status = RUNNING))'],
  ])('%s matches', (filter) => {
    expect(compileFilter(filter)(VM)).toBe(true);
  });

  it.each([
    ['name = df-job'],
    ['name eq df-job'],
    ['name ne df-.*'],
    ['labels.none = x'],
    ['labels.none > 1'],
    ['labels.toString = x'],
    ['disks eq .*'],
    ['creationTimestamp > "2026-11-22"'],
    ['labels = dropforge'],
    ['(status = RUNNING) AND (status = STOPPING)'],
    ['(status = RUNNING) OR (status = STAGING) AND (name = x)'],
  ])('%s does not match', (filter) => {
    expect(compileFilter(filter)(VM)).toBe(false);
  });

  it.each([
    ['name', "Expected 'field operator value' at 'name'."],
    ['name =', 'A value is missing after name =.'],
    ['= x', "Expected 'field operator value' at '='."],
    ['name ~ x', "Expected 'field operator value' at 'name'."],
    ['name : x', 'The operator : is not supported by the embedded cloud.'],
    ['labels.count >= 9', 'The operator >= is not supported by the embedded cloud.'],
    ['name = df-*', 'A * in a value is not supported'],
    ['(name = x', 'A closing parenthesis is missing before the end.'],
    ['name = x)', "Unexpected ')'."],
    ['NOT name = x', "Expected 'field operator value' at 'NOT'."],
    ['-name = x', "Expected 'field operator value' at '-name'."],
    ['name = "x', "It cannot be parsed from '"],
    ['name eq "["', '[ is not a valid regular expression.'],
    ['name eq "(a+)+b"', 'is too complex for the embedded cloud'],
    ['name eq "a*a*a*a*a*a*b"', 'is too complex for the embedded cloud'],
    [`${'('.repeat(20)}name = x${')'.repeat(20)}`, 'nested deeper than 16'],
    [`name = ${'x'.repeat(2_048)}`, 'at most 2048 are allowed'],
  ])('%s is rejected', (filter, message) => {
    expect(() => compileFilter(filter)).toThrow(message);
    expect(() => compileFilter(filter)).toThrow("Invalid value for field 'filter': ");
  });

  it('is compiled or rejected, whatever the text', () => {
    const pieces = fc.constantFrom('(', ')', 'name', '=', 'eq', 'AND', 'OR', '"x"', '"', ':', '*', 'a.b', ' ', '\\');
    const texts = fc.array(fc.oneof(pieces, fc.string()), { maxLength: 12 }).map((parts) => parts.join(' '));
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(typeof compileFilter(text)(VM)).toBe('boolean');
        } catch (error) {
          expect(error).toBeInstanceOf(HTTPException);
        }
      }),
    );
  });
});
