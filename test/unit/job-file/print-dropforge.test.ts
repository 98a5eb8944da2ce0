import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { EMPTY_DRAFT, emptyPool, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { printDropforgeJob } from '#shared/job-file/formats/dropforge/print.ts';
import { fixture, printYaml, readOwn, VALID_FILES, valuesOf } from '../../support/job-file/read-own-job.ts';

function printed(text: string): Record<string, unknown> {
  return printDropforgeJob(readOwn(text).draft);
}

function expectSame(draft: JobDraft): void {
  const again = readOwn(printYaml(printDropforgeJob(draft)));
  expect(again.problems).toEqual([]);
  expect(again.warnings).toEqual([]);
  expect(valuesOf(again.draft)).toEqual(valuesOf(draft));
}

const words = fc.constantFrom('a', 'true', '10', '1e-5', 'null', '~', '', 'a: b', '#', '- a', 'any', '0x10', 'träin');
const line = fc.oneof(words, fc.string({ unit: 'grapheme', maxLength: 12 })).filter((text) => text.trim() !== '');
const gpuName = fc.constantFrom(...readCatalog().accelerators.flatMap(({ name, label }) => [name, label]), 'T44', '8');
const count = fc.integer({ min: 0, max: 17 });
const gpu = fc.oneof(
  gpuName.filter((name) => name !== '8'),
  fc.tuple(count, gpuName).map(([many, name]) => `${many} x ${name}`),
  fc.tuple(count, gpuName).map(([many, name]) => `${name}:${many}`),
  fc.record({ type: gpuName, count: fc.integer() }),
);
const disk = fc.oneof(
  fc.nat(),
  fc.record({ size: fc.nat(), type: fc.constantFrom('pd-ssd', 'x') }, { requiredKeys: [] }),
);
const machine = fc.constantFrom('n1-standard-8', 'n1-standard-16', 'g2-standard-8', 'n2-standard-4');
const reservation = fc.oneof(
  fc.constantFrom('any', 'none', 'projects/p/zones/z/reservations/r'),
  fc.array(line, { maxLength: 2 }),
);
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const parameter = fc.oneof(
  fc.array(number, { maxLength: 3 }),
  fc.array(fc.oneof(number, line, fc.boolean()), { maxLength: 3 }),
  fc.record(
    {
      min: number,
      max: number,
      type: fc.constantFrom('double', 'integer', 'discrete', 'categorical'),
      values: fc.array(fc.oneof(number, line), { maxLength: 3 }),
      scale: fc.constantFrom('linear', 'log', 'reverseLog'),
      default: fc.oneof(number, line),
      when: fc.oneof(
        fc.dictionary(fc.constantFrom('a', 'b', '10'), fc.oneof(number, line, fc.array(line, { maxLength: 2 })), {
          minKeys: 1,
          maxKeys: 1,
        }),
      ),
    },
    { requiredKeys: [] },
  ),
);
const tune = fc.record(
  {
    metric: line,
    goal: fc.constantFrom('maximize', 'minimize', 'Maximize'),
    trials: fc.integer(),
    parallel: fc.integer(),
    algorithm: fc.constantFrom('bayesian', 'grid', 'random'),
    stopping: fc.constantFrom('asha', 'median', 'none'),
    earlyStopping: fc.boolean(),
    measurement: fc.constantFrom('last', 'best'),
    maxCost: number,
    maxFailedTrials: fc.integer(),
    resume: line,
    start: fc.array(fc.dictionary(line, fc.oneof(number, line), { maxKeys: 3 }), { maxLength: 2 }),
    parameters: fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', '10'), line), parameter, { maxKeys: 4 }),
  },
  { requiredKeys: [] },
);
const scalar = fc.oneof(line, fc.integer(), fc.boolean());
const textMap = fc.dictionary(line, scalar, { maxKeys: 3 });
const texts = fc.array(scalar, { maxLength: 3 });
const program = { image: line, command: texts, args: texts, module: line, packages: texts };
const group = fc.oneof(count, fc.record({ count, machine, gpu, disk, reservation, ...program }, { requiredKeys: [] }));
const health = fc.record(
  {
    nonFinite: fc.constantFrom('stop', 'warn', 'rollback'),
    plateau: fc.constantFrom('warn', 'off'),
    stalled: fc.constantFrom('warn', 'restart', 'x'),
    stalledAfter: fc.constantFrom('15m', '1s'),
  },
  { requiredKeys: [] },
);
const notify = fc.record(
  {
    channels: fc.array(fc.constantFrom('team', 'Pager', 'on-call'), { maxLength: 2 }),
    states: fc.array(fc.constantFrom('FAILED', 'SUCCEEDED', 'INTERRUPTED'), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const duration = fc.oneof(fc.constantFrom('1h', '36h', '2d', '90m', '0s', '1.5s', '007s', 'soon', '1h 1s'), line);

/** Values of structured fields; those of all other fields follow from the kind in the field's row. */
const STRUCTURED: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  args: fc.oneof(texts, textMap),
  gpu,
  machine,
  workers: group,
  parameterServers: group,
  evaluators: group,
  disk,
  health,
  notify,
  reservation,
  tune,
};

function arbitraryOf(name: string, { type }: JobField): fc.Arbitrary<unknown> {
  const byKind: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    text: name === 'runtime' || name === 'python' ? scalar : line,
    integer: fc.integer(),
    boolean: fc.boolean(),
    duration,
    mapping: textMap,
    'list of texts': texts,
  };
  const value = STRUCTURED[name] ?? byKind[type] ?? byKind[type.split(',')[0] ?? ''];
  if (value === undefined) {
    throw new Error(`The test has no values for the field ${name}, whose type is ${type}.`);
  }
  return value;
}

const job = fc.record(
  Object.fromEntries(Object.entries<JobField>(JOB_FIELDS).map(([name, row]) => [name, arbitraryOf(name, row)])),
  { requiredKeys: [] },
);

describe('printing Dropforge’s own format', () => {
  it.each(VALID_FILES)('%s: prints a file that reads as the same draft', (file) => {
    expectSame(readOwn(fixture(file)).draft);
  });

  it('prints a file that reads as the same draft (property)', () => {
    let soundCount = 0;
    const property = fc.property(job, (fields) => {
      const { draft, problems, warnings } = readOwn(printYaml(fields));
      fc.pre(problems.length === 0 && warnings.length === 0);
      soundCount += 1;
      expectSame(draft);
    });
    fc.assert(property, { numRuns: 400 });
    expect(soundCount).toBe(400);
  });

  it('prints the shortest equivalent file', () => {
    const text = `
module: a.b
gpu: {type: nvidia-tesla-t4, count: 1}
machine: n1-standard-8
workers: {count: 2, machine: n1-standard-8, gpu: T4}
spot: false
maxRuntime: 7200s
disk: {size: 200}
reservation: [projects/p/zones/z/reservations/r]
tune: {metric: auc, goal: maximize, parameters: {n: {min: 1, max: 2, type: integer}}}
`;
    expect(printed(text)).toEqual({
      module: 'a.b',
      gpu: 'T4',
      workers: { count: 2, gpu: 'T4' },
      maxRuntime: '2h',
      disk: 200,
      reservation: ['projects/p/zones/z/reservations/r'],
      tune: { metric: 'auc', parameters: new Map([['n', { min: 1, max: 2 }]]) },
    });
  });

  it('prints a machine type only if it differs from the one for the GPUs', () => {
    expect(printed('gpu: 2 x L4')).toEqual({ gpu: '2 x L4' });
    expect(printed('gpu: L4\nmachine: g2-standard-16')).toEqual({ gpu: 'L4', machine: 'g2-standard-16' });
    expect(printed('machine: n1-standard-4\nworkers: 2')).toEqual({ machine: 'n1-standard-4', workers: 2 });
  });

  it('prints GPUs in the spelling of flags by their short names', () => {
    const draft: JobDraft = {
      ...EMPTY_DRAFT,
      dialect: 'dropforge',
      pools: [
        {
          ...emptyPool('master', ''),
          accelerator: {
            type: { value: 'nvidia-tesla-v100', path: '--master-accelerator' },
            count: { value: 4, path: '--master-accelerator' },
          },
        },
      ],
    };
    expect(printDropforgeJob(draft)).toEqual({ gpu: '4 x V100' });
  });

  it('prints an empty job with a field that identifies the format', () => {
    expect(printDropforgeJob({ ...EMPTY_DRAFT, dialect: 'dropforge' })).toEqual({ module: null });
  });
});
