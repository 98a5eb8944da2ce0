import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { isJobField, isTrainingInputField } from '#shared/job-file/formats/ai-platform/read.ts';
import { JOB_FIELDS, OTHER_SYNONYMS } from '#shared/job-file/formats/dropforge/fields.ts';
import { isDropforgeField } from '#shared/job-file/formats/dropforge/read.ts';
import { firstOf, fixture, printYaml, readOwn, VALID_FILES, valuesOf } from '../../support/job-file/read-own-job.ts';

describe('reading Dropforge’s own format', () => {
  it.each(VALID_FILES)('%s: has no findings', (file) => {
    const { problems, warnings, unsupported } = readOwn(fixture(file));
    expect([problems, warnings, unsupported]).toEqual([[], [], []]);
  });

  it('reads every field with its location', () => {
    const { draft } = readOwn(fixture('own-all-fields.yaml'));
    expect(draft).toMatchObject({
      dialect: 'dropforge',
      jobId: { value: 'first_run', path: 'name', line: 1 },
      region: { value: 'europe-west4', path: 'region', line: 11 },
      jobDir: { value: 'gs://my-bucket/runs/first', path: 'output', line: 12 },
      maxRunningTime: { value: '43200s', path: 'maxRuntime', line: 13 },
      maxWaitTime: { value: '5400s', path: 'maxWait', line: 14 },
      strategy: { value: 'SPOT', path: 'spot', line: 10 },
      restartsMax: { value: 2, path: 'retries' },
      runtimeVersion: { value: '2.10', path: 'runtime' },
      pythonVersion: { value: '3.10', path: 'python' },
      serviceAccount: { value: 'trainer@my-project.iam.gserviceaccount.com' },
      network: { value: 'projects/my-project/global/networks/training' },
      kmsKeyName: { path: 'kmsKey', line: 23 },
      secrets: [
        { value: { key: 'WANDB_API_KEY', text: 'wandb-key' }, path: 'secrets.WANDB_API_KEY', line: 25 },
        { value: { key: 'HF_TOKEN', text: 'hf-token:3' } },
        { value: { key: 'INDEX', text: 'projects/other/secrets/index/versions/latest' } },
      ],
      labels: [{ value: { key: 'team', text: 'vision' } }, { value: { key: 'run', text: '42' } }],
    });
    expect([draft.scaleTier, draft.study]).toEqual([undefined, undefined]);
    const machine = {
      machineType: 'n1-standard-32',
      accelerator: { type: 'NVIDIA_TESLA_T4', count: 2 },
      bootDiskGib: 200,
      bootDiskType: 'pd-standard',
      reservation: { type: 'NO_RESERVATION', values: [] },
    };
    expect(valuesOf(draft.pools)).toEqual([
      {
        role: 'master',
        ...machine,
        program: {
          pythonModule: 'trainer.task',
          args: ['--epochs', '10', '--dropout', '0.10', '--flag=true', ''],
          packageUris: ['dist/trainer-0.1.tar.gz', 'gs://my-bucket/deps/data-1.0-py3-none-any.whl'],
          environment: [
            { key: 'NCCL_DEBUG', text: 'INFO' },
            { key: 'OMP_NUM_THREADS', text: '4' },
            { key: 'EMPTY', text: '' },
          ],
        },
      },
      { role: 'worker', count: 3, ...machine, program: { environment: [] } },
    ]);
  });

  it('converts a mapping of arguments to flags', () => {
    expect(firstOf(fixture('own-container.yaml'))).toMatchObject({
      machineType: 'a2-ultragpu-1g',
      program: {
        imageUri: 'europe-west4-docker.pkg.dev/my-project/images/trainer:1',
        command: ['python', 'train.py'],
        args: ['--epochs=10', '--learning-rate=1e-5', '--verbose', '--name=true'],
      },
    });
  });

  it('gives groups the first machine, or their own with at most the first machine’s disk', () => {
    const [, ...groups] = readOwn(fixture('own-cluster.yaml')).draft.pools;
    const reservation = {
      type: 'SPECIFIC_RESERVATION',
      key: 'compute.googleapis.com/reservation-name',
      values: ['a', 'b'].map((zone) => `projects/my-project/zones/europe-west4-${zone}/reservations/gpus`),
    };
    const a100 = { machineType: 'a2-highgpu-8g', accelerator: { type: 'NVIDIA_TESLA_A100', count: 8 } };
    const l4 = { machineType: 'g2-standard-24', accelerator: { type: 'NVIDIA_L4', count: 2 } };
    const program = { environment: [] };
    expect(valuesOf(groups)).toEqual([
      { role: 'worker', count: 3, ...a100, bootDiskType: 'pd-ssd', reservation, program },
      { role: 'ps', count: 2, machineType: 'n1-highmem-8', accelerator: {}, bootDiskGib: 500, program },
      {
        role: 'evaluator',
        count: 1,
        ...l4,
        bootDiskGib: 500,
        reservation: { type: 'ANY_RESERVATION', values: [] },
        program,
      },
    ]);
  });

  it('reads Spot VMs of a group, which takes no reservation from the first machine', () => {
    const workersOf = (group: string) =>
      valuesOf(readOwn(`module: t\nmachine: a2-highgpu-1g\nreservation: any\nworkers: ${group}`).draft.pools[1]);
    const worker = { role: 'worker', count: 3, machineType: 'a2-highgpu-1g', accelerator: {} };
    const reservation = { type: 'ANY_RESERVATION', values: [] };
    const program = { environment: [] };
    expect(workersOf('{count: 3, spot: true}')).toEqual({ ...worker, spot: true, program });
    expect(workersOf('{count: 3, spot: false}')).toEqual({ ...worker, reservation, spot: false, program });
    expect(workersOf('3')).toEqual({ ...worker, reservation, program });
  });

  it.each([
    ['{ min: 0, max: 1 }', 'DOUBLE'],
    ['{ min: 0, max: 1, type: integer }', 'INTEGER'],
    ['{ min: 0, max: 2 }', 'INTEGER'],
    ['{ min: -1, max: 1 }', 'INTEGER'],
    ['{ min: 0, max: 1.0 }', 'DOUBLE'],
  ])('reads the type of %s as %s, since 0 and 1 are the bounds of fractions', (bounds, kind) => {
    const { study } = readOwn(`module: a\ntune: {metric: auc, parameters: {dropout: ${bounds}}}`).draft;
    expect(study?.parameters).toMatchObject([{ kind: { value: kind } }]);
  });

  it('reads tuning as AI Platform’s HyperparameterSpec', () => {
    const { study } = readOwn(fixture('own-tuning.yaml')).draft;
    expect(study).toMatchObject({
      path: 'tune',
      metrics: [{ id: { value: 'accuracy', path: 'tune.metric' }, goal: { value: 'MAXIMIZE', path: 'tune.goal' } }],
      algorithm: { value: 'RANDOM_SEARCH' },
      maxTrials: { value: 20 },
      parallelTrials: { value: 4 },
      earlyStopping: { rule: { value: 'AUTOMATIC', path: 'tune.earlyStopping' } },
      measurement: { value: 'BEST_MEASUREMENT' },
      maxCostUsd: { value: 12.5 },
      maxFailedTrials: { value: 3 },
      resumeJobId: { value: 'search_before' },
    });
    const children: readonly never[] = [];
    expect(valuesOf(study?.parameters)).toEqual([
      { id: 'learning_rate', kind: 'DOUBLE', min: 1e-5, max: 0.1, scale: 'UNIT_LOG_SCALE', children },
      {
        id: 'layers',
        kind: 'INTEGER',
        min: 1,
        max: 8,
        children: [
          { parentValues: ['7', '8'], parameter: { id: 'layer_norm', kind: 'DISCRETE', values: ['0', '1'], children } },
        ],
      },
      { id: 'units', kind: 'DOUBLE', min: 1, max: 8, children },
      { id: 'momentum', kind: 'DOUBLE', min: 0.1, max: 1, scale: 'UNIT_REVERSE_LOG_SCALE', children },
      { id: 'batch_size', kind: 'DISCRETE', values: ['16', '32', '64'], children },
      { id: 'decay', kind: 'DISCRETE', values: ['0.001', '0.01', '1'], scale: 'UNIT_LOG_SCALE', children },
      { id: 'classes', kind: 'CATEGORICAL', values: ['1.0', '2'], children },
      {
        id: 'optimizer',
        kind: 'CATEGORICAL',
        values: ['adam', 'sgd'],
        children: [
          {
            parentValues: ['sgd'],
            parameter: { id: 'momentum_of_sgd', kind: 'DOUBLE', min: 0.5, max: 0.99, children },
          },
          {
            parentValues: ['sgd'],
            parameter: {
              id: 'momentum_kind',
              kind: 'CATEGORICAL',
              values: ['plain', '1.0', '2'],
              children: [
                {
                  parentValues: ['plain', '1.0'],
                  parameter: { id: 'nesterov', kind: 'CATEGORICAL', values: ['true', 'false'], children },
                },
              ],
            },
          },
        ],
      },
      { id: 'augment', kind: 'CATEGORICAL', values: ['true', 'false'], children },
      { id: 'depth', kind: 'CATEGORICAL', values: ['1', '2'], children },
    ]);
  });

  it.each([
    ['asha', 'ASHA'],
    ['median', 'MEDIAN'],
    ['none', undefined],
  ])('stops trials by the rule %s', (stopping, rule) => {
    const { study } = readOwn(`module: a\ntune: {metric: auc, stopping: ${stopping}}`).draft;
    expect(study?.earlyStopping?.rule.value).toBe(rule);
  });

  it('reads several metrics with the goal of each', () => {
    const { study } = readOwn('module: a\ntune: {metrics: {auc: maximize, bytes: minimize}}').draft;
    expect(study?.metrics.map(({ id, goal }) => [id?.value, goal?.value])).toEqual([
      ['auc', 'MAXIMIZE'],
      ['bytes', 'MINIMIZE'],
    ]);
  });

  it.each([
    ['a metric beside several', '{metric: auc, metrics: {bytes: minimize}}', 'METRIC_TWICE tune.metric'],
    ['a goal beside several', '{goal: maximize, metrics: {bytes: minimize}}', 'METRIC_TWICE tune.goal'],
    ['a list of metrics', '{metrics: [auc, bytes]}', 'WRONG_TYPE tune.metrics'],
    ['an unknown goal of one of several', '{metrics: {auc: most}}', 'UNKNOWN_VALUE tune.metrics.auc'],
  ])('rejects %s', (_, tune, expected) => {
    const { problems } = readOwn(`module: a\ntune: ${tune}`);
    expect(problems.map(({ code, path }) => `${code} ${path}`)).toEqual([expected]);
  });

  it('maximizes metrics by default, and uses AI Platform’s name of the Bayesian algorithm', () => {
    const { study } = readOwn('module: a\ntune: {metric: auc, algorithm: bayesian}').draft;
    expect(valuesOf(study)).toMatchObject({
      metrics: [{ id: 'auc', goal: 'MAXIMIZE' }],
      algorithm: 'ALGORITHM_UNSPECIFIED',
    });
  });
});

describe('fields at the top of a file', () => {
  it('identify the format if no other format has them', () => {
    const names = Object.keys(JOB_FIELDS);
    expect(names.filter((name) => isDropforgeField(name) && (isJobField(name) || isTrainingInputField(name)))).toEqual(
      [],
    );
    expect(['module', 'image', 'gpu', 'machine', 'workers', 'spot', 'maxRuntime', 'tune'].every(isDropforgeField)).toBe(
      true,
    );
    expect(isDropforgeField('toString')).toBe(false);
  });

  it.each([
    ['App Engine', ['runtime', 'env', 'entrypoint', 'handlers', 'network']],
    ['Conda', ['name', 'channels', 'dependencies']],
    ['a build service', ['python', 'packages', 'env', 'script', 'args']],
  ])('do not identify a file of %s', (_, names) => {
    expect(names.filter(isDropforgeField)).toEqual([]);
  });

  it('have synonyms that are not fields themselves', () => {
    const own = new Set(Object.keys(JOB_FIELDS));
    const synonyms = Object.values<JobField>(JOB_FIELDS).flatMap(({ synonyms = [] }) => synonyms);
    expect([...synonyms, ...Object.keys(OTHER_SYNONYMS)].filter((name) => own.has(name))).toEqual([]);
  });
});

describe('reading any file', () => {
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('any', 'T4', '2 x T4', '12h', 'maximize', '$A', 1, 0, -1, 1.5, true, null, ''),
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...fieldNames()), tie('tree'), { maxKeys: 4 }),
    ),
  }));

  function fieldNames(): readonly string[] {
    const schema = readFileSync(
      new URL('../../../shared/job-file/formats/dropforge/job.schema.json', import.meta.url),
      'utf8',
    );
    return [...new Set([...schema.matchAll(/"([a-zA-Z]+)": \{/g)].map(([, name]) => name ?? ''))];
  }

  it('never throws, and reports a finding for every value that it cannot read', () => {
    const job = fc.dictionary(fc.constantFrom(...Object.keys(JOB_FIELDS)), tree, { maxKeys: 6 });
    const property = fc.property(job, (value) => {
      const { draft, problems } = readOwn(printYaml(value));
      expect(draft.pools[0]?.role).toBe('master');
      expect(problems.every(({ message, remedy }) => /[.]$/.test(message) && remedy !== '')).toBe(true);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
