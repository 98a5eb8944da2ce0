import fc from 'fast-check';
import {
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type JobDraft,
  type PoolDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { type ParameterDraft, type StudyDraft, stoppingBy } from '#shared/job-file/draft/study-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

const oddTexts = [
  '',
  ' ',
  '10',
  '1.10',
  '1e-5',
  '010',
  '0x10',
  'true',
  '~',
  'null',
  '- a',
  'a: b',
  '# a',
  'a\n b\n',
  '\t',
];

const anyText = fc.oneof(
  fc.constantFrom(...oddTexts),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => text.isWellFormed()),
);

function located<T>(value: fc.Arbitrary<T>): fc.Arbitrary<Located<T>> {
  return value.map((found) => ({ value: found, path: '' }));
}

function maybe<T>(value: fc.Arbitrary<T>): fc.Arbitrary<Located<T> | undefined> {
  return fc.option(located(value), { nil: undefined });
}

const text = maybe(anyText);
const filledText = maybe(anyText.filter((value) => value !== ''));
const texts = fc.option(fc.array(located(anyText), { maxLength: 3 }), { nil: undefined });
const integer = maybe(fc.integer());
const number = maybe(fc.double({ noDefaultInfinity: true, noNaN: true }));

function pool(role: PoolDraft['role'], more: fc.Arbitrary<Partial<ProgramDraft>>): fc.Arbitrary<PoolDraft> {
  const container = fc.record({ imageUri: filledText, command: texts, containerArgs: texts });
  return fc
    .record({
      count: role === 'master' ? fc.constant(undefined) : integer,
      machineType: text,
      accelerator: fc.record({ type: text, count: integer }),
      bootDiskGib: integer,
      bootDiskType: text,
      program: fc.tuple(container, more).map(([own, rest]) => ({ ...EMPTY_PROGRAM, ...own, ...rest })),
    })
    .map((fields) => ({ ...emptyPool(role, 'trainingInput'), ...fields }));
}

/** Pools without fields are absent. */
function otherPool(role: PoolDraft['role']): fc.Arbitrary<readonly PoolDraft[]> {
  const empty = JSON.stringify(emptyPool(role, 'trainingInput'));
  return pool(role, fc.constant({})).map((made) => (JSON.stringify(made) === empty ? [] : [made]));
}

const parameter: fc.Arbitrary<ParameterDraft> = fc.record({
  path: fc.constant(''),
  line: fc.constant(undefined),
  id: text,
  kind: fc.oneof(text, located(fc.constantFrom('DOUBLE', 'INTEGER', 'CATEGORICAL', 'DISCRETE'))),
  min: number,
  max: number,
  values: texts,
  scale: text,
  children: fc.constant([]),
});

const automatic = stoppingBy({ value: 'AUTOMATIC', path: '' });

const study: fc.Arbitrary<StudyDraft> = fc.record({
  path: fc.constant(''),
  line: fc.constant(undefined),
  metrics: fc.tuple(
    fc.record({
      path: fc.constant(''),
      line: fc.constant(undefined),
      id: text,
      goal: text,
      safetyThreshold: fc.constant(undefined),
      safeTrialsFractionMin: fc.constant(undefined),
    }),
  ),
  algorithm: text,
  maxTrials: integer,
  parallelTrials: integer,
  maxFailedTrials: integer,
  earlyStopping: fc.constantFrom(undefined, automatic),
  stopping: fc.constant(undefined),
  measurement: fc.constant(undefined),
  parameters: fc.option(fc.array(parameter, { minLength: 1, maxLength: 4 }), { nil: undefined }),
  resumeJobId: text,
  maxCostUsd: number,
});

const program = fc.record({ packageUris: texts, pythonModule: text, args: texts });

// A label named `<<` is YAML's merge key, even in quotes (source-tree.ts).
const labels = fc.uniqueArray(located(fc.record({ key: anyText.filter((key) => key !== '<<'), text: anyText })), {
  selector: ({ value }) => value.key,
  maxLength: 4,
});

/** Drafts of AI Platform's dialect with arbitrary texts and numbers. */
export const anyAiPlatformDraft: fc.Arbitrary<JobDraft> = fc
  .record({
    jobId: text,
    labels,
    secrets: labels,
    scaleTier: text,
    pools: fc
      .tuple(pool('master', program), otherPool('worker'), otherPool('ps'), otherPool('evaluator'))
      .map(([master, ...others]) => [master, ...others.flat()]),
    region: text,
    jobDir: text,
    runtimeVersion: text,
    pythonVersion: text,
    maxRunningTime: text,
    maxWaitTime: text,
    strategy: text,
    keepOnFailure: text,
    webAccess: maybe(fc.boolean()),
    serviceAccount: filledText,
    network: filledText,
    kmsKeyName: filledText,
    study: fc.option(study, { nil: undefined }),
  })
  .map((fields) => ({ ...EMPTY_DRAFT, ...fields }));
