import fc from 'fast-check';
import { ROLES } from '#shared/domain/job-spec.ts';
import {
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type JobDraft,
  type PoolDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import type { EarlyStoppingDraft, ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';

const LOCATION_KEYS = ['path', 'line'];

/** A draft's values without their locations. */
export function withoutLocations(fields: unknown): unknown {
  const text = JSON.stringify(fields, (key, value: unknown) => (LOCATION_KEYS.includes(key) ? undefined : value));
  return text === undefined ? undefined : JSON.parse(text);
}

function located<T>(value: fc.Arbitrary<T>) {
  return value.map((fields) => ({ value: fields, path: '' }));
}

function optional<T>(value: fc.Arbitrary<T>) {
  return fc.option(located(value), { nil: undefined });
}

const ODD_TEXTS = [
  '',
  ' ',
  '10',
  '1e-5',
  'true',
  '~',
  'null',
  '- a',
  'a: b',
  '#',
  '\n',
  'a\n b\n',
  '\u0085',
  '{{ x }}',
];

const texts = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...ODD_TEXTS))
  .filter((text) => !text.includes('\0') && text.isWellFormed());

const text = optional(texts);
const integer = optional(fc.integer());
const number = optional(fc.double({ noNaN: true, noDefaultInfinity: true }));
const boolean = optional(fc.boolean());
const list = fc.array(located(texts), { maxLength: 3 });
const optionalList = fc.option(list, { nil: undefined });

const environment = fc
  .uniqueArray(fc.record({ key: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/), text: texts }), {
    selector: ({ key }) => key,
    maxLength: 3,
  })
  .map((variables) => variables.map((value) => ({ value, path: '' })));

/** One of the specs with its required fields. */
const program: fc.Arbitrary<ProgramDraft> = fc.oneof(
  fc
    .record({ imageUri: located(texts), command: optionalList, containerArgs: optionalList, environment })
    .map((container) => ({ ...EMPTY_PROGRAM, ...container })),
  fc
    .record({
      pythonModule: located(texts),
      packageUris: optionalList,
      executorImageUri: text,
      args: optionalList,
      environment,
    })
    .map((python) => ({ ...EMPTY_PROGRAM, ...python })),
);

const pool: fc.Arbitrary<Omit<PoolDraft, 'role' | 'path'>> = fc.record({
  count: integer,
  machineType: text,
  accelerator: fc.record({ type: text, count: integer }),
  tpuTopology: text,
  bootDiskGib: integer,
  bootDiskType: text,
  reservation: fc.option(fc.record({ type: text, key: text, values: list }), { nil: undefined }),
  program,
});

/** The position of a pool determines its role; some are absent. */
const pools = fc
  .array(fc.option(pool, { nil: undefined }), { maxLength: ROLES.length })
  .map((all) => ROLES.slice(0, all.length).map((role, index) => ({ ...emptyPool(role, ''), ...all[index] })));

const NO_SPACE = { min: undefined, max: undefined, values: undefined };

function parameter(depth: number): fc.Arbitrary<ParameterDraft> {
  const common = { path: fc.constant(''), line: fc.constant(undefined), id: text, scale: text };
  const range = { min: number, max: number };
  const children =
    depth === 0
      ? fc.constant([])
      : fc.array(fc.record({ path: fc.constant(''), parentValues: list, parameter: parameter(depth - 1) }), {
          maxLength: 2,
        });
  const kind = (...kinds: readonly string[]) => located(fc.constantFrom(...kinds));
  return fc
    .oneof(
      fc.record({ ...common, ...range, kind: kind('DOUBLE'), children: fc.constant([]) }),
      fc.record({ ...common, ...range, kind: kind('INTEGER'), children }),
      fc.record({ ...common, kind: kind('CATEGORICAL', 'DISCRETE'), values: optionalList, children }),
    )
    .map((fields) => ({ ...NO_SPACE, ...fields }));
}

const NO_CURVE = {
  stepsMax: undefined,
  stepsMin: undefined,
  measurementsMin: undefined,
  learningRateParameterId: undefined,
  updatesAllStoppedTrials: undefined,
};

const earlyStopping: fc.Arbitrary<EarlyStoppingDraft> = fc.oneof(
  fc
    .record({ rule: located(fc.constantFrom('DECAY_CURVE' as const, 'MEDIAN' as const)), usesElapsedTime: boolean })
    .map((curve) => ({ ...NO_CURVE, ...curve })),
  fc.record({
    rule: located(fc.constant('CONVEX' as const)),
    usesElapsedTime: boolean,
    stepsMax: integer,
    stepsMin: integer,
    measurementsMin: integer,
    learningRateParameterId: text,
    updatesAllStoppedTrials: boolean,
  }),
);

const constraint = fc.option(fc.record({ path: fc.constant(''), maxDuration: text, endTime: text }), {
  nil: undefined,
});

const stopping = fc.record({
  stopsRunningTrials: boolean,
  minimumRuntime: constraint,
  maximumRuntime: constraint,
  trialsMin: integer,
  trialsMax: integer,
  trialsWithoutProgressMax: integer,
  withoutProgressMax: text,
});

const metric = fc
  .record({
    path: fc.constant(''),
    line: fc.constant(undefined),
    id: text,
    goal: text,
    safetyThreshold: number,
    safeTrialsFractionMin: number,
  })
  // Only a metric with a threshold has a fraction.
  .map((fields) => (fields.safetyThreshold === undefined ? { ...fields, safeTrialsFractionMin: undefined } : fields));

const study: fc.Arbitrary<StudyDraft> = fc.record({
  path: fc.constant(''),
  line: fc.constant(undefined),
  metrics: fc.array(metric, { maxLength: 3 }),
  algorithm: text,
  maxTrials: integer,
  parallelTrials: integer,
  maxFailedTrials: integer,
  earlyStopping: fc.option(earlyStopping, { nil: undefined }),
  stopping: fc.option(stopping, { nil: undefined }),
  measurement: text,
  parameters: fc.option(fc.array(parameter(2), { minLength: 1, maxLength: 3 }), { nil: undefined }),
  resumeJobId: fc.constant(undefined),
  maxCostUsd: number,
});

const pairs = fc
  .dictionary(fc.stringMatching(/^[a-z0-9_-]{1,6}$/), texts, { maxKeys: 4, noNullPrototype: true })
  .map((texts) => Object.entries(texts).map(([key, one]) => ({ value: { key, text: one }, path: '' })));

/** Any draft that results from a Vertex AI job without findings. */
export const anyVertexDraft: fc.Arbitrary<JobDraft> = fc
  .record({
    displayName: text,
    labels: pairs,
    secrets: pairs,
    pools,
    jobDir: text,
    maxRunningTime: text,
    maxWaitTime: text,
    strategy: text,
    keepOnFailure: text,
    webAccess: fc.option(
      fc.boolean().map((value) => ({ value, path: '' })),
      { nil: undefined },
    ),
    serviceAccount: text,
    network: text,
    networkAttachment: text,
    kmsKeyName: text,
    study: fc.option(study, { nil: undefined }),
  })
  .map((fields) => ({ ...EMPTY_DRAFT, dialect: 'vertex-ai', ...fields }));
