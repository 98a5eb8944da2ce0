import { describe, expect, it } from 'vitest';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { findFieldGaps } from '../../support/job-file/find-field-gaps.ts';

const ROWS = Object.entries<JobField>(JOB_FIELDS);
const RETRIES: JobField = JOB_FIELDS.retries;

describe('the table of fields', () => {
  it.each(ROWS)('%s: is read, validated, printed, documented and sent', (name, row) => {
    expect(findFieldGaps(name, row)).toEqual([]);
  });

  it.each<[string, string, Partial<JobField>]>([
    ['reader', 'retries is not read.', { read: (draft) => draft }],
    ['correct limit', 'retries is not validated.', { schema: { maximum: 50 } }],
    ['printer', 'retries is not printed.', { print: () => undefined }],
    ['correct printer', 'retries is printed differently from how it is read.', { print: () => 7 }],
    ['example', 'retries has no example.', { examples: [] }],
    ['invalid value', 'retries has no invalid value in the test.', { schema: {} }],
    ['description', 'retries has no description.', { description: '' }],
    ['row in the documentation', 'retries is not in docs/job-file.md.', { description: 'Restarts after a failure.' }],
    [
      'place in JobSpec',
      'retries does not reach limits.retriesMax of JobSpec.',
      { goesTo: { spec: 'limits.retriesMax', vm: null } },
    ],
    [
      'place in the request for a VM',
      'retries does not reach config.limits.restartsMax of the request for a VM.',
      { goesTo: { spec: 'limits.restartsMax', vm: 'config.limits.restartsMax' } },
    ],
  ])('names a field without a %s', (_, gap, change) => {
    expect(findFieldGaps('retries', { ...RETRIES, ...change })).toContain(gap);
  });

  it('names a field that is not in the JSON Schema', () => {
    expect(findFieldGaps('retries2', RETRIES)).toContain('retries2 is not in job.schema.json.');
  });
});
