import { describe, expect, it } from 'vitest';
import { programOptionsSchema, withDefaults } from '#shared/domain/job-spec.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import goldenConfig from '#shared/protocol/golden/vm-config.json' with { type: 'json' };
import { findFieldGaps } from '../../support/job-file/find-field-gaps.ts';

const ROWS = Object.entries<JobField>(JOB_FIELDS);
const RETRIES: JobField = JOB_FIELDS.retries;

describe('the table of fields', () => {
  it.each(ROWS)('%s: is read, validated, documented and sent', (name, row) => {
    expect(findFieldGaps(name, row)).toEqual([]);
  });

  it.each<[string, string, Partial<JobField>]>([
    ['reader', 'retries is not read.', { read: (draft) => draft }],
    ['correct limit', 'retries is not validated.', { schema: { maximum: 50 } }],
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

describe('the options of the program', () => {
  const options = ROWS.filter(([, { isProgramOption }]) => isProgramOption === true);

  it('have a row each, and a value in the golden configuration of a VM', () => {
    const names = Object.keys(programOptionsSchema.shape).sort();
    expect(options.map(([name]) => name).sort()).toEqual(names);
    // Whether the cache is used is decided before: the configuration says where it is.
    expect(names.filter((name) => !(name in goldenConfig.options))).toEqual(['environmentCache']);
  });

  it('have the same defaults in the job file and in the configuration of a VM', () => {
    expect(withDefaults({})).toEqual(
      Object.fromEntries(options.map(([name, { schema }]) => [name, schema.default ?? null])),
    );
  });

  it('that are booleans are booleans in the configuration of a VM, too', () => {
    const flags = options.filter(([, { schema }]) => schema.type === 'boolean').map(([name]) => name);
    expect(flags).toEqual(['environmentCache', 'metricsFromOutput', 'workdirOutputs']);
    for (const name of flags) {
      expect([true, 'true', 1].map((value) => programOptionsSchema.safeParse({ [name]: value }).success)).toEqual([
        true,
        false,
        false,
      ]);
    }
  });

  const numbers = options.filter(([, { schema }]) => schema.type === 'integer');
  it.each(numbers)('%s has the same limits in the job file and in the configuration of a VM', (name, { schema }) => {
    const { minimum, maximum } = schema as { readonly minimum?: number; readonly maximum?: number };
    const accepts = (value: number) => programOptionsSchema.safeParse({ [name]: value }).success;
    expect([minimum, maximum].map((limit) => limit !== undefined && accepts(limit))).toEqual([true, true]);
    expect([(minimum ?? 0) - 1, (maximum ?? 0) + 1].map(accepts)).toEqual([false, false]);
  });
});
