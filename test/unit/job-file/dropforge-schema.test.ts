import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { BOOT_DISK_TYPES, JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { GPU_FIELDS } from '#shared/job-file/formats/dropforge/gpus.ts';
import schema from '#shared/job-file/formats/dropforge/job.schema.json' with { type: 'json' };
import { DISK_FIELDS, GROUP_FIELDS } from '#shared/job-file/formats/dropforge/machines.ts';
import {
  ALGORITHMS,
  GOALS,
  MEASUREMENTS,
  PARAMETER_FIELDS,
  PARAMETER_TYPES,
  SCALES,
  STOPPING_RULES,
  TUNE_FIELDS,
} from '#shared/job-file/tuning/tune-fields.ts';
import { fixture, readOwn, VALID_FILES } from '../../support/job-file/read-own-job.ts';

const validate = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(schema);

const { $defs: defs, properties } = schema;

const page = readFileSync(new URL('../../../docs/job-file.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block]) => block ?? '');

function mappingOf(def: 'gpu' | 'group' | 'disk' | 'parameter') {
  const found = defs[def].anyOf.find((form) => 'properties' in form);
  return found !== undefined && 'properties' in found ? Object.keys(found.properties ?? {}) : [];
}

describe('the JSON Schema of Dropforge’s own format', () => {
  it.each(VALID_FILES)('%s: is valid', (file) => {
    validate(parse(fixture(file)));
    expect(validate.errors).toBe(null);
  });

  it.each([
    ['an unknown field', { modul: 'a' }],
    ['a field of another format', { pythonModule: 'a' }],
    ['a name with a hyphen', { name: 'first-run' }],
    ['a command line', { command: 'python train.py' }],
    ['a package that is not in a list', { packages: 'a.tar.gz' }],
    ['GPUs without a name', { gpu: 2 }],
    ['a mapping of GPUs without a name', { gpu: { count: 2 } }],
    ['zero GPUs of a type', { gpu: { type: 'T4', count: 0 } }],
    ['a number of workers as a word', { workers: 'three' }],
    ['a list of workers', { workers: [3] }],
    ['a region of a group', { workers: { count: 3, region: 'us-central1' } }],
    ['text instead of true', { spot: 'yes' }],
    ['a zone', { region: 'us-central1-a' }],
    ['a local directory', { output: '/tmp/run' }],
    ['a duration without a unit', { maxRuntime: 3600 }],
    ['a duration in words', { maxRuntime: '12 hours' }],
    ['negative retries', { retries: -1 }],
    ['a size with a unit', { disk: '200GB' }],
    ['an unknown disk type', { disk: { type: 'floppy' } }],
    ['a list of variables', { env: ['A=1'] }],
    ['an empty list of reservations', { reservation: [] }],
    ['tuning without a metric', { tune: { parameters: { a: [1] } } }],
    ['tuning without parameters', { tune: { metric: 'a' } }],
    ['an unknown goal', { tune: { metric: 'a', goal: 'more', parameters: { a: [1] } } }],
    ['a parameter with a single value', { tune: { metric: 'a', parameters: { a: 1 } } }],
    ['a parameter with one bound', { tune: { metric: 'a', parameters: { a: { min: 1 } } } }],
    [
      'a condition on two parameters',
      { tune: { metric: 'a', parameters: { a: { values: [1], when: { b: 1, c: 1 } } } } },
    ],
    ['a negative cost', { tune: { metric: 'a', maxCost: -1, parameters: { a: [1] } } }],
    ['a parameter without values', { tune: { metric: 'a', parameters: { a: [] } } }],
    ['a list', []],
    ['own-mistakes.yaml', parse(fixture('own-mistakes.yaml'))],
  ])('rejects %s', (_, job) => {
    expect(validate(job)).toBe(false);
  });

  it.each([
    ['a job', Object.keys(properties), JOB_FIELDS],
    ['a group', mappingOf('group'), GROUP_FIELDS],
    ['a GPU', mappingOf('gpu'), GPU_FIELDS],
    ['a disk', mappingOf('disk'), DISK_FIELDS],
    ['a parameter', mappingOf('parameter'), PARAMETER_FIELDS],
    ['tuning', Object.keys(defs.tune.properties), TUNE_FIELDS],
  ])('has exactly the fields that are read: %s', (_, names, table) => {
    expect(names).toEqual(Object.keys(table));
  });

  it('has exactly the enumeration values that are read', () => {
    const { goal, algorithm, stopping, measurement } = defs.tune.properties;
    const parameter = JSON.stringify(defs.parameter);
    expect(goal.enum).toEqual(Object.keys(GOALS));
    expect(algorithm.enum).toEqual(Object.keys(ALGORITHMS));
    expect(stopping.enum).toEqual(Object.keys(STOPPING_RULES));
    expect(measurement.enum).toEqual(Object.keys(MEASUREMENTS));
    expect(parameter).toContain(JSON.stringify(Object.keys(PARAMETER_TYPES)));
    expect(parameter).toContain(JSON.stringify(Object.keys(SCALES)));
    expect(JSON.stringify(defs.disk)).toContain(JSON.stringify(BOOT_DISK_TYPES));
    expect(properties.name.pattern).toBe(JOB_ID_PATTERN.source);
    const labels = readCatalog().accelerators.map(({ label }) => label);
    expect(JSON.stringify([defs.gpu, defs.gpuType]).split(JSON.stringify(labels))).toHaveLength(3);
  });

  it('describes every field, with valid examples', () => {
    const undescribed = Object.entries(properties).filter(([, field]) => field.description.length < 10);
    expect(undescribed).toEqual([]);
    for (const [name, field] of Object.entries(properties)) {
      for (const example of 'examples' in field ? (field.examples ?? []) : []) {
        const isValid = validate({ [name]: example });
        expect(isValid, `${name}: ${JSON.stringify(example)}`).toBe(true);
      }
    }
  });
});

describe('docs/job-file.md', () => {
  it('has examples that contain every field', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(3);
    const shown = new Set(blocks.flatMap((block) => Object.keys(parse(block))));
    expect(Object.keys(JOB_FIELDS).filter((name) => !shown.has(name))).toEqual([]);
  });

  it.each(blocks.map((block) => [block]))('has an example that is valid without findings: %s', (block) => {
    const { problems, warnings, unsupported } = readOwn(block);
    expect([problems, warnings, unsupported]).toEqual([[], [], []]);
    validate(parse(block));
    expect(validate.errors).toBe(null);
  });

  it('has a row for every field', () => {
    const rows = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name);
    expect(
      [...Object.keys(JOB_FIELDS), ...Object.keys(TUNE_FIELDS).map((name) => `tune.${name}`)].filter(
        (name) => !rows.includes(name),
      ),
    ).toEqual([]);
  });
});
