import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isReservedLabel, JOB_ID_PATTERN, OWN_LABELS_COUNT_MAX } from '#shared/domain/job-spec.ts';
import { LABELS_COUNT_MAX } from '#shared/job-file/validation/check-names.ts';
import { filterOf, readLabels, toLabels } from '#shared/protocol/vm-labels.ts';

const jobIds = fc.stringMatching(JOB_ID_PATTERN);
const LABEL_VALUE = /^[a-z0-9_-]{0,63}$/;

describe('the labels of a VM', () => {
  it('are valid, and decode to the same job id and attempt', () => {
    fc.assert(
      fc.property(jobIds, fc.integer({ min: 1, max: 10_000 }), (jobId, attempt) => {
        const labels = toLabels({ jobId, attempt, role: 'worker' }, {});
        expect(Object.values(labels).every((value) => LABEL_VALUE.test(value))).toBe(true);
        expect(readLabels(labels)).toEqual({ jobId, attempt });
      }),
    );
  });

  it.each([
    ['128 capitals', 'Z'.repeat(128)],
    ['a capital on every boundary of 63 characters', `a${'x'.repeat(61)}B${'y'.repeat(62)}C`],
    ['one letter', 'A'],
    ['exactly 63 lowercase letters', 'a'.repeat(63)],
  ])('decode to the same job id for %s', (_, jobId) => {
    expect(readLabels(toLabels({ jobId, attempt: 1, role: 'master' }, {}))?.jobId).toBe(jobId);
  });

  it('differ for job ids that differ only in case', () => {
    const firstOf = (jobId: string) => toLabels({ jobId, attempt: 1, role: 'master' }, {})['dropforge-job'];
    expect(new Set(['ab', 'Ab', 'aB', 'AB'].map(firstOf)).size).toBe(4);
  });

  it('include the user’s labels, which cannot replace reserved ones', () => {
    const labels = toLabels({ jobId: 'j', attempt: 2, role: 'ps' }, { team: 'vision', 'managed-by': 'me' });
    expect(labels).toEqual({
      team: 'vision',
      'managed-by': 'dropforge',
      'dropforge-job': 'j',
      'dropforge-attempt': '2',
      'dropforge-role': 'ps',
    });
  });

  it('decode correctly with any labels of the user', () => {
    const own = fc.dictionary(
      fc.constantFrom('dropforge-job', 'dropforge-job-1', 'dropforge-job-4', 'dropforge-attempt', 'managed-by', 'team'),
      fc.constantFrom('a', 'x'.repeat(63), '7', '-'),
    );
    fc.assert(
      fc.property(jobIds, fc.integer({ min: 1, max: 10_000 }), own, (jobId, attempt, labels) => {
        expect(readLabels(toLabels({ jobId, attempt, role: 'worker' }, labels))).toEqual({ jobId, attempt });
      }),
    );
  });

  it('ignore further label parts on VMs that older versions created', () => {
    const labels = { ...toLabels({ jobId: 'digits', attempt: 1, role: 'master' }, {}), 'dropforge-job-1': 'x' };
    expect(readLabels(labels)).toEqual({ jobId: 'digits', attempt: 1 });
  });

  it('fit in the number that intake reserves, under keys that it reserves', () => {
    const keys = Object.keys(toLabels({ jobId: 'Z'.repeat(128), attempt: 1, role: 'master' }, {}));
    expect(keys).toHaveLength(OWN_LABELS_COUNT_MAX);
    expect(keys.filter((key) => !isReservedLabel(key))).toEqual([]);
    expect(keys.length + LABELS_COUNT_MAX).toBe(64);
  });

  it.each([
    [{}],
    [{ 'managed-by': 'terraform', 'dropforge-job': 'j', 'dropforge-attempt': '1' }],
    [{ 'managed-by': 'dropforge', 'dropforge-attempt': '1' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': 'j' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': 'j', 'dropforge-attempt': 'two' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': 'j', 'dropforge-attempt': '' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': 'j', 'dropforge-attempt': '0' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': '1j', 'dropforge-attempt': '1' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': 'j-', 'dropforge-attempt': '1' }],
    [{ 'managed-by': 'dropforge', 'dropforge-job': 'J', 'dropforge-attempt': '1' }],
  ])('are not Dropforge’s if they are %j', (labels) => {
    expect(readLabels(labels)).toBeUndefined();
  });

  it('can be selected by a filter', () => {
    expect(filterOf()).toBe('labels.managed-by = dropforge');
    expect(filterOf({ jobId: 'Job_1' })).toBe('(labels.managed-by = dropforge) AND (labels.dropforge-job = "-job_1")');
  });
});
